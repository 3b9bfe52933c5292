## Defines the neighborhood of a block: the coarse cells around the block's own cell, and which points of their borders
## the queries of the own cell may see.
## In scope: what declare and take_cell of /methods/fenns/blocks.mako declare.
## Config fields used: dim, periodic, work_group_size, tile.
<%namespace name="period_numbers" file="/domain/period_numbers.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="sections" file="/methods/fenns/sections.mako"/>
<%def name="make_table(page)">
    // A page of the neighborhood: for each cell its candidates, and the test of whether a query of the own cell may see
    // one of them. The own cell comes first, with all of its points. Of the other cells of the layer the border counts,
    // and of cells in other layers the part that other layers see. On an axis on which the cell lies after the own
    // cell, a candidate may be seen if its coordinate less the largest reach is not beyond the own cell; on an axis on
    // which it lies before, the signs are reversed. The test is one comparison of a scaled coordinate with a bound,
    // which is the largest number below the next cell. On other axes the bound is infinite.
    frnn_barrier();
    for (int frnn_n_ = frnn_l; frnn_n_ < ${3 ** dim}; frnn_n_ += ${work_group_size}) {
        const int frnn_which = (${page}) * ${3 ** dim} + frnn_n_;
        int frnn_there = frnn_which < frnn_neighbors, frnn_rest = (frnn_which + frnn_neighbors / 2) % frnn_neighbors;
        int frnn_cell_rest = frnn_cell_here;
% for k in range(dim):
        const real frnn_wide${k} = ${period_numbers.widest_reach(k, "frnn_widest", "frnn_images")};
        const int frnn_c${k} = frnn_cell_rest % frnn_shape.s${k}, frnn_span${k} = ${f"2 * frnn_around{k} + 1" if periodic else "3"};
        int frnn_g${k} = frnn_c${k} + frnn_rest % frnn_span${k} - frnn_span${k} / 2;
        frnn_cell_rest /= frnn_shape.s${k};
        frnn_rest /= frnn_span${k};
        const int frnn_side${k} = (frnn_g${k} > frnn_c${k}) - (frnn_g${k} < frnn_c${k});
        frnn_aparts[frnn_n_ * ${dim} + ${k}] = (real)frnn_side${k} * frnn_wide${k};
        frnn_scales[frnn_n_ * ${dim} + ${k}] = (real)frnn_side${k} * frnn_inverse.s${k};
        frnn_bounds[frnn_n_ * ${dim} + ${k}] =
            !frnn_side${k} ? INFINITY : frnn_side${k} > 0 ? frnn_below((real)(frnn_c${k} + 1)) : -(real)frnn_c${k};
        if (!frnn_which) frnn_corner[${k}] = frnn_low.s${k} + (real)frnn_c${k} / frnn_inverse.s${k} - frnn_wide${k};
% if periodic:
        int frnn_wrap${k} = 0;
        if (frnn_lengths.s${k} > 0) {
            const int frnn_period = frnn_shape.s${k};
            frnn_wrap${k} = frnn_g${k} < 0 ? -((frnn_period - 1 - frnn_g${k}) / frnn_period) : frnn_g${k} / frnn_period;
            frnn_g${k} -= frnn_wrap${k} * frnn_period;
        }
        frnn_wraps[frnn_n_ * ${dim} + ${k}] = frnn_wrap${k};
% endif
        frnn_there &= frnn_g${k} >= 0 & frnn_g${k} < frnn_shape.s${k};
% endfor
        const int frnn_g = frnn_there ? ${"(frnn_g2 * frnn_shape.s1 + frnn_g1)" if dim == 3 else "frnn_g1"} * frnn_shape.s0 + frnn_g0 : 0;
        const int frnn_start = ${sections.start("frnn_sections", "frnn_g")};
        const int frnn_section = !frnn_which ? 2 : !frnn_side${dim - 1};
        frnn_firsts[frnn_n_] = frnn_start;
        frnn_lasts[frnn_n_] = frnn_there ? frnn_sections[3 * frnn_g + frnn_section] : frnn_start;
    }
    frnn_barrier();
</%def>

<%def name="load_neighbor(number)">
% for name in ("apart", "scale", "bound"):
    const real ${", ".join(f"frnn_{name}{k} = frnn_{name}s[{number} * {dim} + {k}]" for k in range(dim))};
% endfor
% if periodic:
    const int ${", ".join(f"frnn_wrap{k} = frnn_wraps[{number} * {dim} + {k}]" for k in range(dim))};
% endif
</%def>

<%def name="accept(place, slot)">
    // Writes the place of a candidate to a slot of the tile, if the candidate may be seen. A point that is NaN may be seen.
    const frnn_record frnn_one = frnn_sorted[${place}];
% if skewed:
    const real_vec frnn_one_height = frnn_heights(${geometry.point_of("frnn_one")}, frnn_images);
% endif
    int frnn_seen = 1;
% for k in range(dim):
<% one = f"frnn_one_height.s{k}" if skewed else f"frnn_one.s{k}" %>\
% if periodic:
    const int frnn_moved${k} =
        frnn_wrap${k} - frnn_image(${one}, frnn_images[${3 * dim + k}], frnn_images[${2 * dim + k}]);
    const real frnn_x${k} = ${one} + (real)frnn_moved${k} * frnn_lengths.s${k};
% else:
    const real frnn_x${k} = frnn_one.s${k};
% endif
    frnn_seen &= !((frnn_x${k} - frnn_apart${k} - frnn_low.s${k}) * frnn_scale${k} > frnn_bound${k});
% endfor
    if (frnn_seen) {
        const int frnn_slot = ${slot};
        if (frnn_slot < ${tile}) {
            frnn_sources[frnn_slot] = ${place};
% if periodic:
% for k in range(dim):
            frnn_shifts[frnn_slot * ${dim} + ${k}] = frnn_moved${k};
% endfor
% endif
        }
    }
</%def>
