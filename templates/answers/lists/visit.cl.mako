<%include file="/common/geometry.mako"/>
<%namespace name="visit" file="/methods/visit.mako"/>
<%namespace name="condition" file="/methods/condition.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>
<%namespace name="nearest_image" file="/domain/nearest_image.mako"/>\
// Runs a function for every pair of a list whose distance is now at most the radius.
// Launch: one work-item per row of the list, groups of ${work_group_size}.
// In: the list, frnn_offsets (n + 1,) and frnn_indices; frnn_points (n, ${dim}), the positions now; with periodic axes the
// numbers of the nearest image, see /domain/nearest_image.mako. With `stored`, frnn_shifts (pairs, ${dim}), those of the list, and
// frnn_wraps (n, ${dim}), how often each point was shifted since the list was made. Out: what the function writes.
// Config fields used: work_group_size, dim, components, real, offset, periodic, batched, reduced, stored.
// Exact because the pair, its shift and its difference are those of a walk; the list only says which pairs to test.
% if periodic and not stored:
// Where no query sees two images of a point, the image of a neighbor is the nearest one.
frnn_shift frnn_nearest_shift(const real_vec p, const real_vec q, global const real *restrict period)
{
    ${nearest_image.differences()}
    return (frnn_shift)(${", ".join([f"s{k}" for k in range(dim)] + ["0"] * (vector_length - dim))});
}
% endif
% if skewed:
// The translation of a shift, in coordinates.
real_vec frnn_translation(const frnn_shift shift, global const real *restrict period)
{
    return (real_vec)(${", ".join([capture(translation, k) for k in range(dim)] + ["0"] * (vector_length - dim))});
}
% endif
% if batched:
global const real *frnn_period_of(global const real *restrict frnn_tables, const int system)
{
    ${lattice.period_of("frnn_tables", "system")}
    return period;
}
% endif
<%def name="translation(k)" filter="trim">
${lattice.sum_of([f"(real)shift{component} * {lattice.vector_of_period(axis, k)}" for axis, component in enumerate(components)])}
</%def>
${condition.functions(function)}
${visit.piece(function, "preamble")}
#pragma OPENCL FP_CONTRACT OFF
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void visit_list(const int frnn_first, const int frnn_end, const real frnn_radius, global const ${offset} *restrict frnn_offsets,
                global const int *restrict frnn_indices, global const real *restrict frnn_points
% if periodic:
                , global const real *restrict ${"frnn_tables, global const int *restrict frnn_systems" if batched else "frnn_period"}
% endif
% if stored:
                , global const int *restrict frnn_shifts, global const int *restrict frnn_wraps
% endif
% if function.parsed_arguments:
    ,
${visit.piece(function, "arguments")}
% endif
    ${condition.parameters(function)}
)
{
    const int i = frnn_first + (int)get_global_id(0);
    if (i >= frnn_end) return;
    const real_vec frnn_q = ${geometry.load("frnn_points", "i")};
% if batched:
    global const real *restrict frnn_period = frnn_period_of(frnn_tables, frnn_systems[i]);
% endif
    const real r2 = frnn_radius * frnn_radius;
    real reach2 = r2;
    ${visit.piece(function, "state")}
    const ${offset} frnn_row_end = frnn_offsets[i + 1];
    for (${offset} frnn_entry = frnn_offsets[i]; frnn_entry < frnn_row_end; ++frnn_entry) {
        const int j = frnn_indices[frnn_entry];
        const real_vec frnn_p = ${geometry.load("frnn_points", "j")};
% for k, component in enumerate(components):
        const real frnn_p${k} = frnn_p${component};
% endfor
% if stored:
        // The list has the shift between the images then. Each end has been shifted since.
% for k in range(dim):
        const int frnn_base${k} = frnn_shifts[(size_t)frnn_entry * ${dim} + ${k}] + frnn_wraps[(size_t)i * ${dim} + ${k}]
                                  - frnn_wraps[(size_t)j * ${dim} + ${k}];
% endfor
% elif periodic:
        // A neighbor is nearer than 0.35 lengths on every axis, so that rounding hides no image unless points are very far apart.
        int frnn_apart = 0;
% for k, component in enumerate(components):
        const real frnn_lengths${k} = (frnn_p${k} - frnn_q${component}) * frnn_period[${dim + k}];
        frnn_apart |= !((frnn_lengths${k} < 1000) & (frnn_lengths${k} > -1000));
        int frnn_base${k} = frnn_apart ? 0 : -(int)(frnn_lengths${k} + (frnn_lengths${k} < 0 ? FRNN_REAL(-0.5) : FRNN_REAL(0.5)));
% endfor
        if (frnn_apart) {
            const frnn_shift frnn_found = frnn_nearest_shift(frnn_p, frnn_q, frnn_period);
% for k, component in enumerate(components):
            frnn_base${k} = frnn_found${component};
% endfor
        }
% endif
% if skewed:
        const frnn_shift frnn_shift_now = (frnn_shift)(${", ".join([f"frnn_base{k}" for k in range(dim)] + ["0"] * (vector_length - dim))});
        const real_vec frnn_displacement = frnn_translation(frnn_shift_now, frnn_period);
% for k, component in enumerate(components):
        const real frnn_displacement${k} = frnn_displacement${component};
% endfor
% elif periodic:
% for k in range(dim):
        const real frnn_displacement${k} = (real)frnn_base${k} * frnn_period[${k}];
% endfor
% endif
        ${visit.offer(function, "moved" if periodic else "plain")}
    }
    {
        ${visit.piece(function, "finish")}
    }
}
