<%namespace name="periodic_images" file="/common/periodic_images.mako"/>
## The local grid over a block: candidates of a tile in the order of its fine cells.
## Config fields used: dim, components, periodic, work_group_size, tile, foreign.
<%def name="fine_cell(k, x)" filter="trim">
frnn_fine_cell(${x}, frnn_corner[${k}], frnn_fine_inverse.s${k}, frnn_fine_last.s${k})
</%def>

<%def name="fine_row(at)" filter="trim">
${f"({at}2 * frnn_fine_shape.s1 + {at}1)" if dim == 3 else f"{at}1"} * frnn_fine_shape.s0
</%def>

<%def name="arrange(own)">
    // The tile by fine cells: each item takes up its share, counts it, and lays it down in order. The first so many are
    // the cell's own points.
<% each = -(-tile // work_group_size) %>\
    const int frnn_places = ${" * ".join(f"frnn_fine_shape.s{k}" for k in range(dim))} + 1;
    for (int frnn_k = frnn_l; frnn_k < frnn_places; frnn_k += ${work_group_size}) frnn_fine[frnn_k] = 0;
    frnn_barrier();
    // Of each candidate: where it comes from, and its fine cell and its rank there in the halves of a number.
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
% for k in range(dim):
% if periodic:
            const int frnn_moved${k} =
% if own != "0":
                frnn_slot < ${own} ? -frnn_image(frnn_one.s${k}, frnn_images[${3 * dim + k}], frnn_images[${2 * dim + k}]) :
% endif
                frnn_shifts[frnn_slot * ${dim} + ${k}];
            frnn_with[frnn_m * ${dim} + ${k}] = frnn_moved${k};
            const real frnn_x${k} = frnn_one.s${k} + (real)frnn_moved${k} * frnn_lengths.s${k};
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
            // Read again rather than kept in registers.
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
    // Counts of fine cells to their starts: each item sums a span, spans of sixteen items are summed, and each item adds
    // what lies before it.
    const int frnn_span = (frnn_places + ${work_group_size - 1}) / ${work_group_size};
    const int frnn_lowest = frnn_min(frnn_places, frnn_l * frnn_span);
    const int frnn_highest = frnn_min(frnn_places, frnn_lowest + frnn_span);
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

<%def name="take_candidate()">
    const frnn_record frnn_candidate = frnn_tile[frnn_t];
    const int j = FRNN_LANE_ID(frnn_candidate.s3);
% for k in range(dim):
    const real frnn_p${k} = frnn_candidate.s${k};
% if periodic:
    const int frnn_base${k} = frnn_shifts[frnn_t * ${dim} + ${k}] + frnn_own${k};
    const real frnn_displacement${k} = (real)frnn_base${k} * frnn_length${k};
% endif
% endfor
% if periodic and not foreign:
    const int frnn_excluded_here = ${periodic_images.excluded_id("frnn_base")};
% endif
</%def>
