<%include file="/common/geometry.mako"/>
<%namespace name="cells" file="/methods/grid/cells.mako"/>
<%namespace name="clique_walk" file="/answers/linking/clique_walk.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
// Links the core points of a grid, clique by clique: see /answers/linking/clique_walk.mako.
// Config fields used: dim, periodic, layout, work_group_size, longest, read.
// Source: Prokopenko, Lebrun-Grandié and Arndt (2023), dense boxes; Creasey (2018), a stop at the first pair that links.
${forest}
${clique_walk.functions()}
// Divides the places of each cell into chunks of at most ${longest}, so that no work-item has many points to divide.
// Launch: one work-item per cell, groups of ${work_group_size}.
// In: starts (cells + 1,). In and out: chunks (n,), zeros before: the number of places of the chunk that begins at a place.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void begin_chunks(const int cells, global const int *restrict starts, global int *restrict chunks)
{
    const int cell = get_global_id(0);
    if (cell >= cells) return;
    const int stop = starts[cell + 1];
    for (int t = starts[cell]; t < stop; t += ${longest}) chunks[t] = min(stop - t, ${longest});
}

// Divides the points of each chunk into cliques: the first point with those behind it that fit a box around them, and so on. The
// points of a clique are brought together, as a cell of a torus may hold points of two crowds in any order.
// Launch: one work-item per place, groups of ${work_group_size}.
// In: chunks (n,), as begin_chunks leaves them. In and out: frnn_sorted, n points by cells.
// Out: members (n,), the number of points of the clique that begins at a place, or 0 where none does.
// Exact because the squared diagonal of the box around a clique, computed as squared distances are, is within the squared
// radius. Rounding is monotone, so the squared distance of no two points in the box exceeds it.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void find_cliques(const int frnn_n, ${point_layout.array("frnn_sorted")}, global const int *restrict chunks, const real radius,
                  global int *restrict members)
{
    const int own = get_global_id(0);
    if (own >= frnn_n) return;
    const int stop = own + chunks[own];
    const real r2 = radius * radius;
    for (int first = own; first < stop;) {
        const real_vec p = ${point_layout.point("first")};
        ${clique_walk.begin_box("p")}
        int next = first + 1;
        for (int t = next; t < stop; ++t) {
            const real_vec q = ${point_layout.point("t")};
% for k, component in enumerate(components):
            const real from${k} = CLFRNN_SMALLER(low${k}, q${component}), to${k} = CLFRNN_LARGER(high${k}, q${component});
            const real frnn_d${k} = to${k} - from${k};
% endfor
            if (!(${geometry.squared_distance()} <= r2)) continue;
% for k in range(dim):
            low${k} = from${k};
            high${k} = to${k};
% endfor
            if (t > next) {
                const int i = ${point_layout.point_id("next")}, j = ${point_layout.point_id("t")};
                const real_vec other = ${point_layout.point("next")};
                ${point_layout.store("frnn_sorted", "frnn_n", "next", "q", "j")}
                ${point_layout.store("frnn_sorted", "frnn_n", "t", "other", "i")}
            }
            members[next++] = 0;
        }
        members[first] = next - first;
        first = next;
    }
}

// Makes the core points of each clique a tree.
// Launch: one work-item per place, groups of ${work_group_size}.
// In: frnn_sorted, n points by cells; core (n,). In and out: members (n,), as find_cliques leaves them, negative afterwards for
// cliques without a core point; links (n,), of which each core point is a root before.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void chain_cliques(const int frnn_n, ${point_layout.constant_array("frnn_sorted")}, global const uchar *restrict core,
                   global int *restrict members, global int *restrict links)
{
    const int own = get_global_id(0);
    if (own >= frnn_n || !members[own]) return;
    const int stop = own + members[own];
    int lowest = INT_MAX;
    for (int t = own; t < stop; ++t) {
        const int i = ${point_layout.point_id("t")};
        if (core[i]) lowest = min(lowest, i);
    }
    if (lowest == INT_MAX) members[own] = own - stop;
    for (int t = own; t < stop && stop - own > 1; ++t) {
        const int i = ${point_layout.point_id("t")};
        if (core[i]) links[i] = lowest;
    }
}

// Links each clique to those before it in search order, by the first two core points that are neighbors.
// Launch: one work-item per place from frnn_first up to frnn_end, groups of ${work_group_size}.
// In: frnn_sorted, n points by cells; frnn_starts (cells + 1,); core (n,); members (n,), as chain_cliques leaves them; with
// periodic axes frnn_images. In and out: links (n,), as chain_cliques leaves them.
// Exact because another clique is left out only where both are in one tree, and a point of it where it has no neighbor in the
// box around the core points of this one.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void link_cliques(const int frnn_first, const int frnn_end, ${cells.arguments()}, const real radius, const real padded,
                  global const uchar *restrict core, global const int *restrict members, volatile global int *links)
{
    const int own = frnn_first + (int)get_global_id(0);
    if (own >= frnn_end || members[own] <= 0) return;
    const int own_end = own + members[own];
    const real r2 = radius * radius;
    // The box around the core points, and an ancestor of all of them.
    const real_vec corner = ${point_layout.point("own")};
    ${clique_walk.begin_box("corner")}
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
    ${cells.address("corner", "frnn_")}
    // Rows of cells behind its own have no cliques before it. Its row is known where it finds itself in its cell.
    const int is_known = own >= frnn_starts[address] && own < frnn_starts[address + 1];
    const int own_row = is_known ? address - index0 : INT_MAX;
    <%call expr="clique_walk.each_run('frnn_row <= own_row')">
            for (int v = frnn_t; v < min(frnn_stop, own); v += abs(members[v])) {
                const int many = members[v];
                if (many < 0) continue;
                int t = v;
                if (many > 1) {
                    // All core points of a clique are in one tree.
                    while (!core[${point_layout.point_id("t")}]) ++t;
                    ancestor = clfrnn_tree_root(links, ancestor);
                    if (clfrnn_tree_root(links, ${point_layout.point_id("t")}) == ancestor) continue;
                }
                for (; t < v + many; ++t) {
                    ${clique_walk.bounds("t")}
                    if (nearest > r2) continue;
                    const int j = ${point_layout.point_id("t")};
                    if (many > 1 && !core[j]) continue;
                    int linked = farthest <= r2;
                    for (int u = own; !linked && u < own_end; ++u) {
                        const real_vec q = ${point_layout.point("u")};
                        ${clique_walk.differences("t")}
                        linked = ${geometry.squared_distance()} <= r2 && core[${point_layout.point_id("u")}];
                    }
                    if (linked) {
                        ancestor = clfrnn_unite(links, ancestor, j);
                        break;
                    }
                }
            }
    </%call>
}
