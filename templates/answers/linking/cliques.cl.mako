<%include file="/common/geometry.mako"/>
<%namespace name="cell_coordinate" file="/domain/cell_coordinate.mako"/>
<%namespace name="cell_window" file="/methods/grid/cell_window.mako"/>
<%namespace name="cells" file="/methods/grid/cells.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="periodic_images" file="/domain/periodic_images.mako"/>
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
<%namespace name="visit" file="/methods/visit.mako"/>
// Links the points of a grid clique by clique. A clique is a run of points of a cell that are all neighbors of each other;
// a point without others is a clique of one.
// A run is a clique if the squared diagonal of the box around it, computed as a squared distance is, does not exceed the
// squared radius: rounding is monotone, so no two points in the box are farther from each other.
// Where an axis is periodic, all points lie in the box.
// Config fields used: dim, periodic, layout, work_group_size, longest, read.
// Source: Prokopenko, Lebrun-Grandié and Arndt (2023), dense boxes; Creasey (2018), a stop at the first pair that links.
${forest}
#define CLFRNN_LARGER(a, b) ((a) > (b) ? (a) : (b))
#define CLFRNN_SMALLER(a, b) ((a) < (b) ? (a) : (b))
${visit.smaller_and_larger(1)}
${cell_coordinate.functions(columns)}
${cell_window.functions()}
${periodic_images.functions()}
// Finds the cliques. A work-item divides up to ${longest} places of a cell, from its own place on.
// Launch: one work-item per place, groups of ${work_group_size}.
// In: frnn_sorted, n points by cells; starts (cells + 1,); least, the number of points that makes all of a clique core.
// In and out: members (n,), ones before: the number of points of the clique that begins at a place, or 0 where none does;
// counts (n,): `least` for each point of a clique of so many.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void find_cliques(const int frnn_n, ${point_layout.constant_array("frnn_sorted")}, global const int *restrict starts,
                  ${cells.grid("")}, const real radius, const int least, global int *restrict members, global int *restrict counts)
{
    const int own = get_global_id(0);
    if (own >= frnn_n) return;
    const real_vec p = ${point_layout.point("own")};
    ${cells.address("p")}
    // A point that is not finite, or on an edge of the box, may be in another cell than this.
    const int begin = starts[address], end = starts[address + 1];
    if (own < begin || own >= end || (own - begin) % ${longest}) return;
    const int stop = min(end, own + ${longest});
    const real r2 = radius * radius;
    int first = own;
    ${begin_box("p")}
    for (int t = own + 1; t <= stop; ++t) {
        const int is_in_run = t < stop;
        const real_vec q = ${point_layout.point("is_in_run ? t : own")};
% for k, component in enumerate(components):
        const real from${k} = CLFRNN_SMALLER(low${k}, q${component}), to${k} = CLFRNN_LARGER(high${k}, q${component}), frnn_d${k} = to${k} - from${k};
% endfor
        const int fits = is_in_run && ${geometry.squared_distance()} <= r2;
% for k, component in enumerate(components):
        low${k} = fits ? from${k} : q${component};
        high${k} = fits ? to${k} : q${component};
% endfor
        if (fits) {
            members[t] = 0;
        } else {
            members[first] = t - first;
            for (int place = first; t - first >= least && place < t; ++place) counts[${point_layout.point_id("place")}] = least;
            first = t;
        }
    }
}

// Counts the neighbors of points up to `least`, from where on their number does not matter.
// Launch: one work-item per place from frnn_first up to frnn_end, groups of ${work_group_size}.
// In: frnn_sorted, n points by cells; frnn_starts (cells + 1,); with periodic axes frnn_images. In and out: counts (n,), which
// stay where they are `least`.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void count_to_core(const int frnn_first, const int frnn_end, ${cells.arguments()}, const real radius, const real padded,
                   const int least, global int *restrict counts)
{
    const int own = frnn_first + (int)get_global_id(0);
    if (own >= frnn_end) return;
    const int i = ${point_layout.point_id("own")};
    if (counts[i] == least) return;
    const real_vec q = ${point_layout.point("own")};
    const real r2 = radius * radius;
    ${begin_box("q")}
    int found = 0;
    <%call expr="each_run('found < least')">
            for (int t = frnn_t; t < frnn_stop && found < least; ++t) {
                const real_vec p = ${point_layout.point("t")};
% for k, component in enumerate(components):
                const real frnn_d${k} = (p${component} - q${component})${moved(k)};
% endfor
                found += ${geometry.squared_distance()} <= r2 && ${is_another("t")};
            }
    </%call>
    counts[i] = found;
}

// Makes the core points of each clique a tree.
// Launch: one work-item per place, groups of ${work_group_size}.
// In: frnn_sorted, n points by cells; members (n,), as find_cliques leaves them; core (n,).
// In and out: links (n,), of which each core point is a root before.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void chain_cliques(const int frnn_n, ${point_layout.constant_array("frnn_sorted")}, global const int *restrict members,
                   global const uchar *restrict core, global int *restrict links)
{
    const int own = get_global_id(0);
    if (own >= frnn_n || members[own] < 2) return;
    const int stop = own + members[own];
    int lowest = INT_MAX;
    for (int t = own; t < stop; ++t) {
        const int i = ${point_layout.point_id("t")};
        if (core[i]) lowest = min(lowest, i);
    }
    for (int t = own; t < stop; ++t) {
        const int i = ${point_layout.point_id("t")};
        if (core[i]) links[i] = lowest;
    }
}

// Links each clique to those before it in search order, by the first two core points that are neighbors.
// Launch: one work-item per place from frnn_first up to frnn_end, groups of ${work_group_size}.
// In: frnn_sorted, n points by cells; frnn_starts (cells + 1,); members (n,), as find_cliques leaves them; core (n,);
// with periodic axes frnn_images. In and out: links (n,), as chain_cliques leaves them.
// Exact because the window of a clique holds the windows of all of its points. A clique is left out where both are in one
// tree, and a point where its least distance to the box around the other clique, computed as distances are, exceeds the radius.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void link_cliques(const int frnn_first, const int frnn_end, ${cells.arguments()}, const real radius, const real padded,
                  global const int *restrict members, global const uchar *restrict core, volatile global int *links)
{
    const int own = frnn_first + (int)get_global_id(0);
    if (own >= frnn_end || !members[own]) return;
    const int own_end = own + members[own];
    const real r2 = radius * radius;
    // The box around the core points, and an ancestor of all of them.
    const real_vec corner = ${point_layout.point("own")};
    ${begin_box("corner")}
    int ancestor = -1;
    for (int t = own; t < own_end; ++t) {
        const int i = ${point_layout.point_id("t")};
        if (!core[i]) continue;
        const real_vec q = ${point_layout.point("t")};
% for k, component in enumerate(components):
        low${k} = ancestor < 0 ? q${component} : CLFRNN_SMALLER(low${k}, q${component});
        high${k} = ancestor < 0 ? q${component} : CLFRNN_LARGER(high${k}, q${component});
% endfor
        if (ancestor < 0) ancestor = i;
    }
    if (ancestor < 0) return;
    ${cells.address("corner", "frnn_")}
    // Rows of cells behind its own have no cliques before it. Its cell is known for certain where it finds itself in it.
    const int is_known = own >= frnn_starts[address] && own < frnn_starts[address + 1];
    const int own_row = is_known ? address - index0 : INT_MAX;
    <%call expr="each_run('frnn_row <= own_row')">
            for (int v = frnn_t; v < min(frnn_stop, own); v += members[v]) {
                const int stop = v + members[v];
                int t = v;
                if (stop - v > 1) {
                    // All core points of a clique are in one tree.
                    while (t < stop && !core[${point_layout.point_id("t")}]) ++t;
                    if (t == stop) continue;
                    ancestor = clfrnn_tree_root(links, ancestor);
                    if (clfrnn_tree_root(links, ${point_layout.point_id("t")}) == ancestor) continue;
                }
                ${link("t", "stop")}
            }
    </%call>
}

<%def name="begin_box(p)">
% for k, component in enumerate(components):
    real low${k} = ${p}${component}, high${k} = low${k};
% endfor
</%def>

<%def name="each_run(wanted='1')">
## The body runs for each run of places, from frnn_t up to frnn_stop, in those rows of the window around a box that are wanted.
% for k in range(dim):
% if periodic:
    const real reach${k} = padded * (1 + 8 * FRNN_EPSILON) + frnn_images[${4 * dim + k}];
    const int behind${k} = max(0, frnn_image(high${k} + reach${k}, frnn_images[${3 * dim + k}], frnn_images[${dim + k}]));
    for (int turns${k} = min(0, frnn_image(low${k} - reach${k}, frnn_images[${3 * dim + k}], frnn_images[${dim + k}])); turns${k} <= behind${k}; ++turns${k}) {
    const real displacement${k} = (real)turns${k} * frnn_images[${k}];
% else:
    const real reach${k} = padded;
% endif
<% seen = f" - displacement{k}" if periodic else "" %>\
    const int frnn_from${k} = frnn_window_from(low${k}${seen}, reach${k}, ${cells.cell(k)});
    const int frnn_to${k} = min(frnn_window_to(high${k}${seen}, reach${k}, ${cells.cell(k)}), frnn_from${k} + frnn_shape.s${k} - 1);
% endfor
    ${cells.ends_of_runs()}
    <%cells:rows image="plain">
        if (!(${wanted})) continue;
        <%cells:runs>
${caller.body()}
        </%cells:runs>
    </%cells:rows>
% if periodic:
    ${"}" * dim}
% endif
</%def>

<%def name="moved(k)" filter="trim">
${f" + displacement{k}" if periodic else ""}
</%def>

<%def name="is_another(t)" filter="trim">
## Whether the point at a place is not the query itself, but may be an image of it.
(${t} != own${"".join([f" || turns{k}" for k in range(dim)]) if periodic else ""})
</%def>

<%def name="link(first, stop)">
                for (int place = ${first}; place < ${stop}; ++place) {
                    const real_vec p = ${point_layout.point("place")};
                    // The differences to the low and to the high corner of the box bound those to all of its points.
% for k, component in enumerate(components):
                    const real above${k} = (p${component} - low${k})${moved(k)}, below${k} = (p${component} - high${k})${moved(k)};
% endfor
                    real nearest, farthest;
                    {
% for k in range(dim):
                        const real frnn_d${k} = CLFRNN_LARGER(CLFRNN_LARGER(below${k}, -above${k}), 0);
% endfor
                        nearest = ${geometry.squared_distance()};
                    }
                    if (nearest > r2) continue;
                    const int j = ${point_layout.point_id("place")};
                    if (!core[j]) continue;
                    {
% for k in range(dim):
                        const real frnn_d${k} = CLFRNN_LARGER(above${k}, -below${k});
% endfor
                        farthest = ${geometry.squared_distance()};
                    }
                    int linked = farthest <= r2;
                    for (int u = own; !linked && u < own_end; ++u) {
                        const real_vec q = ${point_layout.point("u")};
% for k, component in enumerate(components):
                        const real frnn_d${k} = (p${component} - q${component})${moved(k)};
% endfor
                        linked = ${geometry.squared_distance()} <= r2 && core[${point_layout.point_id("u")}];
                    }
                    if (linked) {
                        ancestor = clfrnn_unite(links, ancestor, j);
                        break;
                    }
                }
</%def>
