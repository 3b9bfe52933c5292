<%include file="/common/geometry.mako"/>
<%namespace name="cells" file="/methods/grid/cells.mako"/>
<%namespace name="clique_walk" file="/answers/linking/clique_walk.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
// Finds the core points of a grid, and the clusters that other points are at the border of, clique by clique: see
// /answers/linking/clique_walk.mako.
// Config fields used: dim, periodic, layout, work_group_size.
// Source: Prokopenko, Lebrun-Grandié and Arndt (2023).
${clique_walk.functions()}
// Counts neighbors of the points of cliques. A point within reach of all points of a clique counts for all of them.
// Launch: one work-item per place from frnn_first up to frnn_end, groups of ${work_group_size}.
// In: frnn_sorted, n points by cells; frnn_starts (cells + 1,); members (n,), as find_cliques leaves them; enough, the number of
// neighbors that makes a point core; with periodic axes frnn_images.
// Out: counts (n,): `enough` for core points; fewer for others, and 0 for those without neighbors; -1 where points of the clique
// may differ.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void count_of_cliques(const int frnn_first, const int frnn_end, ${cells.arguments()}, const real radius, const real padded,
                      const int enough, global const int *restrict members, global int *restrict counts)
{
    const int own = frnn_first + (int)get_global_id(0);
    if (own >= frnn_end || !members[own]) return;
    const int own_end = own + members[own];
    const real r2 = radius * radius;
    const real_vec corner = ${point_layout.point("own")};
    ${clique_walk.begin_box("corner")}
    for (int t = own + 1; t < own_end; ++t) {
        const real_vec q = ${point_layout.point("t")};
% for k, component in enumerate(components):
        low${k} = CLFRNN_SMALLER(low${k}, q${component});
        high${k} = CLFRNN_LARGER(high${k}, q${component});
% endfor
    }
    // Its own points are among those that are found, and a point is not its own neighbor.
    int all = own_end - own > enough ? enough : -1, some = 0;
    <%call expr="clique_walk.each_run('all < enough')">
            for (int t = frnn_t; t < frnn_stop; ++t) {
                ${clique_walk.bounds("t")}
                all += farthest <= r2;
                some += (nearest <= r2) & !(farthest <= r2);
            }
    </%call>
    const int is_sure = !some | ((all > 0) & (all + some < enough));
    const int count = all >= enough ? enough : is_sure ? all : -1;
    for (int t = own; t < own_end; ++t) counts[${point_layout.point_id("t")}] = count;
}

// Counts neighbors of single points up to `enough`.
// Launch: one work-item per place from frnn_first up to frnn_end, groups of ${work_group_size}.
// In: as count_of_cliques. In and out: counts (n,), of which those below 0 are found.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void count_of_points(const int frnn_first, const int frnn_end, ${cells.arguments()}, const real radius, const real padded,
                     const int enough, global int *restrict counts)
{
    const int own = frnn_first + (int)get_global_id(0);
    if (own >= frnn_end) return;
    const int i = ${point_layout.point_id("own")};
    if (counts[i] >= 0) return;
    const real_vec q = ${point_layout.point("own")};
    const real r2 = radius * radius;
    ${clique_walk.begin_box("q")}
    int found = -1;
    <%call expr="clique_walk.each_run('found < enough')">
            // Some at a time, so that compilers for CPUs test them as a vector.
            while (frnn_t < frnn_stop && found < enough) {
                const int stop = min(frnn_stop, frnn_t + 32);
                for (; frnn_t < stop; ++frnn_t) {
                    ${clique_walk.differences("frnn_t")}
                    found += ${geometry.squared_distance()} <= r2;
                }
            }
    </%call>
    counts[i] = min(found, enough);
}

// Gives points at borders the lowest label among the core points within reach.
// Launch: one work-item per place from frnn_first up to frnn_end, groups of ${work_group_size}.
// In: frnn_sorted, n points by cells; frnn_starts (cells + 1,); core, border (n,); members (n,), as chain_cliques leaves them;
// with periodic axes frnn_images. In and out: labels (n,), of which those of core points are read and others written.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void take_borders(const int frnn_first, const int frnn_end, ${cells.arguments()}, const real radius, const real padded,
                  global const uchar *restrict core, global const uchar *restrict border, global const int *restrict members,
                  global int *labels)
{
    const int own = frnn_first + (int)get_global_id(0);
    if (own >= frnn_end) return;
    const int i = ${point_layout.point_id("own")};
    if (!border[i]) return;
    const real_vec q = ${point_layout.point("own")};
    const real r2 = radius * radius;
    ${clique_walk.begin_box("q")}
    int lowest = INT_MAX;
    <%call expr="clique_walk.each_run()">
            for (int v = frnn_t; v < frnn_stop; v += abs(members[v])) {
                // All core points of a clique have one label. Where it is not lower, none of them needs a test.
                for (int t = v; t < v + members[v]; ++t) {
                    const int j = ${point_layout.point_id("t")};
                    if (!core[j]) continue;
                    if (labels[j] >= lowest) break;
                    ${clique_walk.differences("t")}
                    if (${geometry.squared_distance()} <= r2) {
                        lowest = labels[j];
                        break;
                    }
                }
            }
    </%call>
    if (lowest != INT_MAX) labels[i] = lowest;
}
