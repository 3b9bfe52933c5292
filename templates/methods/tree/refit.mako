## Defines how a group stores the points of its leaves in search order and fits the boxes of these leaves and of the
## nodes above.
## In scope: the parameters of the kernels of /methods/tree/build.cl.mako.
## Config fields used: work_group_size, dim, components, real, periodic, leaves.
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="node_boxes" file="/methods/tree/node_boxes.mako"/>
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
<%namespace name="periodic_images" file="/domain/periodic_images.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>
<%namespace name="upper_nodes" file="/methods/tree/upper_nodes.mako"/>
<%def name="into_box(p, inverse_row='2', by_heights=False)">
    // x0, x1, ...: the image of ${p} in the periodic box. inverse_row: the row of images with the inverse lengths to
    // use: those of the points, which are zero where all of them lie in the box (2), or those of any position (1).
## by_heights: in a cell, the heights of that image instead.
% if periodic:
    ${periodic_images.load_box("images")}
% endif
% if skewed:
% for k in range(dim):
    const real height${k} = ${lattice.placed(p, "images")}${components[k]};
    const int image${k} = frnn_image(height${k}, frnn_start${k}, images[${inverse_row} * ${dim} + ${k}]);
% endfor
% if not by_heights:
    ${lattice.caller_shift("shift", "image", "images")}
% endif
% for k, component in enumerate(components):
    const real x${k} = ${f"height{k} - (real)image{k} * frnn_length{k}" if by_heights else f"{p}{component} - ({lattice.translation(k, 'shift', 'images')})"}${f" + {lattice.moved(k, 'images')}" if batched and not by_heights else ""};
% endfor
% else:
% for k, component in enumerate(components):
% if periodic:
    const real x${k} = ${p}${component} - (real)frnn_image(${p}${component}, frnn_start${k}, images[${inverse_row} * ${dim} + ${k}]) * frnn_length${k};
% else:
    const real x${k} = ${p}${component};
% endif
% endfor
% endif
</%def>

<%def name="fit_leaves(again)">
    // The group stores its points in search order, and then fits the box of each leaf to the points that it has stored.
    local real lows[${leaves * dim}], highs[${leaves * dim}], grown[${leaves}], crowds[${leaves}];
    local int bads[${leaves}];
    const int l = get_local_id(0), g = get_group_id(0);
    const int first_leaf = g * ${leaves}, here = min(${leaves}, frnn_leaves);
    // The begin of a leaf behind the last point may overflow an int.
    const int first = (int)min((long)frnn_n, (long)first_leaf * frnn_leaf_size);
    const int end = (int)min((long)frnn_n, (long)(first_leaf + here) * frnn_leaf_size);
    for (int t = first + l; t < end; t += ${work_group_size}) {
% if again:
        const int i = ${point_layout.point_id("t", "before")};
% else:
        const int i = order[t];
% endif
        const real_vec p = ${geometry.load("points", "i")};
        ${point_layout.store("sorted", "frnn_n", "t", "p", "i")}
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int leaf = l; leaf < here; leaf += ${work_group_size}) {
% for k in range(dim):
        real low${k} = INFINITY, high${k} = -INFINITY;
% endfor
        int bad = INT_MAX;
        const int begin = (int)min((long)end, (long)first + (long)leaf * frnn_leaf_size), finish = min(end, begin + frnn_leaf_size);
        for (int t = begin; t < finish; ++t) {
            const real_vec p = ${point_layout.point("t", "sorted")};
            if (${" && ".join(f"isfinite(p{component})" for component in components)}) {
                ${lattice.choose_table("", capture(point_layout.point_id, "t", "sorted"))}
                ${into_box("p")}
% for k in range(dim):
                low${k} = fmin(low${k}, x${k});
                high${k} = fmax(high${k}, x${k});
% endfor
            } else {
                bad = min(bad, ${point_layout.point_id("t", "sorted")});
            }
        }
        // Leaves behind the last point are not stored, but for leaf 0 of a tree without points.
        const int stored = (begin < finish) | (first_leaf + leaf == 0);
        if (stored) {
            ${node_boxes.store("nodes", "frnn_leaves + first_leaf + leaf", "")}
        }
        // The logarithm of the volume, because a product of many sides may overflow. A side counts as no shorter than
        // `least`. The volume of a leaf without points is zero, so its growth is infinite when points come to it.
        real volume = -INFINITY, crowd = 0;
        if (low0 <= high0) {
            volume = 0;
% for k in range(dim):
            volume += log2(fmax(high${k} - low${k}, least));
% endfor
            // A side much shorter than the longest is the thickness of a sheet or a line, all of which a cube of the radius
            // holds. The box around few points is smaller than the space that belongs to them, hence the last factor.
            const real many = finish - begin;
            const real longest = ${"high0 - low0" if dim == 1 else "".join("fmax(" for _ in range(dim - 1)) + "high0 - low0, " + ", ".join(f"high{k} - low{k})" for k in range(1, dim))};
            crowd = many * many;
% for k in range(dim):
            if (high${k} - low${k} >= longest / 16) crowd *= radius / fmax(high${k} - low${k}, least);
            crowd *= (many - 1) / (many + 1);
% endfor
        }
        if (fresh && stored) volumes[first_leaf + leaf] = volume;
        grown[leaf] = low0 <= high0 ? volume - volumes[first_leaf + leaf] : 0;
        crowds[leaf] = crowd;
        bads[leaf] = bad;
% for k in range(dim):
        lows[leaf * ${dim} + ${k}] = low${k};
        highs[leaf * ${dim} + ${k}] = high${k};
% endfor
    }
    // The nodes above these leaves. The topmost of them is stored by the group that is done last.
    ${upper_nodes.join_slots("here", "frnn_leaves + first_leaf", least=2)}
</%def>
