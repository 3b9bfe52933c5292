## Defines the local grid of a block: how the candidates of a tile are sorted by fine cells in local memory.
## In scope: what declare and take_cell of /methods/fenns/blocks.mako declare.
## Config fields used: dim, components, periodic, work_group_size, tile, foreign.
<%namespace name="periodic_images" file="/domain/periodic_images.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>
<%def name="fine_cell(k, x)" filter="trim">
frnn_fine_cell(${x}, frnn_corner[${k}], frnn_fine_inverse.s${k}, frnn_fine_last.s${k})
</%def>

<%def name="fine_row(at)" filter="trim">
${f"({at}2 * frnn_fine_shape.s1 + {at}1)" if dim == 3 else f"{at}1"} * frnn_fine_shape.s0
</%def>

<%def name="sort(own)">
    // Sorts the tile by fine cells: each work-item reads its share of the candidates, counts them, and writes them in
    // order. The first `${own}` candidates are the points of the own cell.
<% each = -(-tile // work_group_size) %>\
    const int frnn_fine_cells = ${" * ".join(f"frnn_fine_shape.s{k}" for k in range(dim))} + 1;
    for (int frnn_k = frnn_l; frnn_k < frnn_fine_cells; frnn_k += ${work_group_size}) frnn_fine[frnn_k] = 0;
    frnn_barrier();
    // For each candidate its place in the sorted copy; and, in the halves of one int, its fine cell and its rank in that cell.
    int frnn_origin[${each}], frnn_rank[${each}];
% if periodic:
    int frnn_with[${each * dim}];
% endif
% if work_group_size > 1:
#pragma unroll
% endif
    for (int frnn_m = 0; frnn_m < ${each}; ++frnn_m) {
        const int frnn_slot = frnn_l + frnn_m * ${work_group_size};
        if (frnn_slot < frnn_held) {
            frnn_origin[frnn_m] = ${f"frnn_slot < {own} ? frnn_start + frnn_slot : " if own != "0" else ""}frnn_sources[frnn_slot];
            const frnn_record frnn_one = frnn_sorted[frnn_origin[frnn_m]];
% if skewed:
            const real_vec frnn_one_height = frnn_heights(${geometry.point_of("frnn_one")}, frnn_images);
% endif
% for k in range(dim):
<% one = f"frnn_one_height.s{k}" if skewed else f"frnn_one.s{k}" %>\
% if periodic:
            const int frnn_moved${k} =
% if own != "0":
                frnn_slot < ${own} ? -frnn_image(${one}, frnn_images[${3 * dim + k}], frnn_images[${2 * dim + k}]) :
% endif
                frnn_shifts[frnn_slot * ${dim} + ${k}];
            frnn_with[frnn_m * ${dim} + ${k}] = frnn_moved${k};
            const real frnn_x${k} = ${one} + (real)frnn_moved${k} * frnn_lengths.s${k};
% else:
            const real frnn_x${k} = frnn_one.s${k};
% endif
            const int frnn_f${k} = ${fine_cell(k, f"frnn_x{k}")};
% endfor
            const int frnn_f = ${fine_row("frnn_f")} + frnn_f0;
            frnn_rank[frnn_m] = frnn_f << 16 | frnn_next(&frnn_fine[frnn_f]);
        }
    }
    frnn_barrier();
    ${scan_fine()}
% if work_group_size > 1:
#pragma unroll
% endif
    for (int frnn_m = 0; frnn_m < ${each}; ++frnn_m) {
        const int frnn_slot = frnn_l + frnn_m * ${work_group_size};
        if (frnn_slot < frnn_held) {
            const int frnn_to = frnn_fine[frnn_rank[frnn_m] >> 16] + (frnn_rank[frnn_m] & 65535);
            // The candidate is loaded again, so that it does not occupy registers.
            frnn_tile[frnn_to] = frnn_sorted[frnn_origin[frnn_m]];
% if periodic:
            for (int frnn_k = 0; frnn_k < ${dim}; ++frnn_k)
                frnn_shifts[frnn_to * ${dim} + frnn_k] = frnn_with[frnn_m * ${dim} + frnn_k];
% endif
        }
    }
    frnn_barrier();
</%def>

<%def name="scan_fine()">
    // Replaces the counts of fine cells by their starts. Each work-item sums a span of counts; the spans of every
    // sixteen work-items are summed; and each work-item adds the sums before its own.
    const int frnn_span = (frnn_fine_cells + ${work_group_size - 1}) / ${work_group_size};
    const int frnn_lowest = frnn_min(frnn_fine_cells, frnn_l * frnn_span);
    const int frnn_highest = frnn_min(frnn_fine_cells, frnn_lowest + frnn_span);
    int frnn_sum = 0;
    for (int frnn_k = frnn_lowest; frnn_k < frnn_highest; ++frnn_k) frnn_sum += frnn_fine[frnn_k];
    frnn_sums[frnn_l] = frnn_sum;
    frnn_barrier();
    for (int frnn_b = frnn_l; frnn_b < ${-(-work_group_size // 16)}; frnn_b += ${work_group_size}) {
        int frnn_block = 0;
        for (int frnn_k = frnn_b * 16; frnn_k < frnn_min(${work_group_size}, frnn_b * 16 + 16); ++frnn_k)
            frnn_block += frnn_sums[frnn_k];
        frnn_blocks[frnn_b] = frnn_block;
    }
    frnn_barrier();
    int frnn_before = 0;
    for (int frnn_b = 0; frnn_b < frnn_l / 16; ++frnn_b) frnn_before += frnn_blocks[frnn_b];
    for (int frnn_k = frnn_l / 16 * 16; frnn_k < frnn_l; ++frnn_k) frnn_before += frnn_sums[frnn_k];
    for (int frnn_k = frnn_lowest; frnn_k < frnn_highest; ++frnn_k) {
        const int frnn_here = frnn_fine[frnn_k];
        frnn_fine[frnn_k] = frnn_before;
        frnn_before += frnn_here;
    }
    frnn_barrier();
</%def>

<%def name="load_candidate(image)">
    const frnn_record frnn_candidate = frnn_tile[frnn_t];
    const int j = FRNN_LANE_ID(frnn_candidate.s3);
% for k in range(dim):
    const real frnn_p${k} = frnn_candidate.s${k};
% if image != "plain":
    const int ${lattice.counted("frnn_base")}${k} = frnn_shifts[frnn_t * ${dim} + ${k}] + frnn_own${k};
% if not skewed:
    const real frnn_displacement${k} = (real)frnn_base${k} * frnn_length${k};
% endif
% endif
% endfor
% if reduced and image != "plain":
    ${lattice.caller_shift("frnn_base", lattice.counted("frnn_base"), "")}
% endif
% if skewed and image != "plain":
    ${periodic_images.displace("frnn_base", numbers="")}
% endif
% if image != "plain" and not foreign:
    const int frnn_excluded_here = ${periodic_images.excluded_id("frnn_base")};
% endif
</%def>
