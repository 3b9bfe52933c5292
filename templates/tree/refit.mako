<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="boxes" file="/tree/node_boxes.mako"/>
<%namespace name="places" file="/common/point_layout.mako"/>
<%namespace name="periodic_box" file="/common/periodic_images.mako"/>
<%namespace name="tops" file="/tree/upper_nodes.mako"/>
## Points that go to their places in a tree, and the boxes of a group's leaves and of the nodes above them.
## Config fields used: work_group_size, dim, components, real, periodic, leaves.
<%def name="at_home(p, of='2')">
    // Where the image of ${p} in the periodic box lies: of a point, which may be known to be at home (2), or of any position (1).
% if periodic:
    ${periodic_box.home("images")}
% endif
% for k, component in enumerate(components):
% if periodic:
    const real x${k} = ${p}${component} - (real)frnn_image(${p}${component}, frnn_start${k}, images[${of} * ${dim} + ${k}]) * frnn_length${k};
% else:
    const real x${k} = ${p}${component};
% endif
% endfor
</%def>

<%def name="fit_leaves(again)">
    // Points go to their places, then each leaf's box is made of the points that the group has just put there.
    local real lows[${leaves * dim}], highs[${leaves * dim}], grown[${leaves}], crowds[${leaves}];
    local int bads[${leaves}];
    const int l = get_local_id(0), g = get_group_id(0);
    const int first_leaf = g * ${leaves}, here = min(${leaves}, frnn_leaves);
    // Leaves behind the last point may begin beyond an int.
    const int first = (int)min((long)frnn_n, (long)first_leaf * frnn_leaf_size);
    const int end = (int)min((long)frnn_n, (long)(first_leaf + here) * frnn_leaf_size);
    for (int t = first + l; t < end; t += ${work_group_size}) {
% if again:
        const int i = ${places.point_id("t", "before")};
% else:
        const int i = order[t];
% endif
        const real_vec p = ${geometry.load("points", "i")};
        ${places.put("sorted", "frnn_n", "t", "p", "i")}
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int leaf = l; leaf < here; leaf += ${work_group_size}) {
% for k in range(dim):
        real low${k} = INFINITY, high${k} = -INFINITY;
% endfor
        int bad = INT_MAX;
        const int begin = (int)min((long)end, (long)first + (long)leaf * frnn_leaf_size), finish = min(end, begin + frnn_leaf_size);
        for (int t = begin; t < finish; ++t) {
            const real_vec p = ${places.point("t", "sorted")};
            if (${" && ".join(f"isfinite(p{component})" for component in components)}) {
                ${at_home("p")}
% for k in range(dim):
                low${k} = fmin(low${k}, x${k});
                high${k} = fmax(high${k}, x${k});
% endfor
            } else {
                bad = min(bad, ${places.point_id("t", "sorted")});
            }
        }
        // Of the leaves behind the last point, which nothing is kept of but in the boxes above them, one stands for the root.
        const int kept = (begin < finish) | (first_leaf + leaf == 0);
        if (kept) {
            ${boxes.store("nodes", "frnn_leaves + first_leaf + leaf", "")}
        }
        // Volumes by their logarithms, as products of many sides leave the numbers; no side counts as narrower than least.
        // A leaf without points has none, so that any that come to it have grown without end.
        real volume = -INFINITY, crowd = 0;
        if (low0 <= high0) {
            volume = 0;
% for k in range(dim):
            volume += log2(fmax(high${k} - low${k}, least));
% endfor
            // A side far shorter than the longest is the thickness of a sheet or a line: a cube of the radius holds all of it.
            // And boxes of few points are smaller than what these have to themselves.
            const real many = finish - begin;
            const real longest = ${"high0 - low0" if dim == 1 else "".join("fmax(" for _ in range(dim - 1)) + "high0 - low0, " + ", ".join(f"high{k} - low{k})" for k in range(1, dim))};
            crowd = many * many;
% for k in range(dim):
            if (high${k} - low${k} >= longest / 16) crowd *= radius / fmax(high${k} - low${k}, least);
            crowd *= (many - 1) / (many + 1);
% endfor
        }
        if (fresh && kept) volumes[first_leaf + leaf] = volume;
        grown[leaf] = low0 <= high0 ? volume - volumes[first_leaf + leaf] : 0;
        crowds[leaf] = crowd;
        bads[leaf] = bad;
% for k in range(dim):
        lows[leaf * ${dim} + ${k}] = low${k};
        highs[leaf * ${dim} + ${k}] = high${k};
% endfor
    }
    // The nodes above these leaves, down to one, which the last group keeps.
    ${tops.join_slots("here", "frnn_leaves + first_leaf", least=2)}
</%def>
