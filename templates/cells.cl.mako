<%include file="geometry.cl.mako"/>
<%namespace name="geometry" file="geometry.cl.mako"/>
<%namespace name="visit" file="visit.cl.mako"/>
// Cells on a torus: the coordinate of a point, its address, the window of a query, and its candidates.
// Config fields used: dim, components, columns, width, work_group_size, foreign.
// The sorted copy is an array of records, or columns of x, y, (z,) and id, n long each.

// Coordinate of x on one axis. Monotone in x, rounding included, which is all that exactness asks of it; it is clamped
// before the conversion, so that no value, NaN included, leaves the integers.
int frnn_coordinate(const real x, const real low, const real inverse)
{
    const real range = 536870912;
    return (int)floor(fmin(fmax((x - low) * inverse, -range), range));
}

// The same, kept inside the grid: clamped into a grid that holds its domain, any integer where addresses wrap.
int frnn_cell(const real x, const real low, const real inverse, const int many, const int wrapped)
{
    const int cell = frnn_coordinate(x, low, inverse);
    return wrapped ? cell : clamp(cell, 0, many - 1);
}

// A cell's place on its axis.
#define FRNN_LANE(cell, many, wrapped) ((wrapped) ? (cell) & ((many) - 1) : (cell))

// Address of the cell that holds p.
int frnn_address(const real_vec p, const frnn_record low, const frnn_record inverse, const int4 shape, const int wrapped)
{
% for k, component in enumerate(components):
    const int at${k} =
        FRNN_LANE(frnn_cell(p${component}, low.s${k}, inverse.s${k}, shape.s${k}, wrapped), shape.s${k}, wrapped);
% endfor
    return ${"(at2 * shape.s1 + at1)" if dim == 3 else "at1"} * shape.s0 + at0;
}

<%def name="arguments()">
    const int frnn_n, global const ${"real" if columns else "frnn_record"} *restrict frnn_sorted,
    global const int *restrict frnn_starts,
    const frnn_record frnn_low, const frnn_record frnn_inverse, const int4 frnn_shape, const int frnn_wrapped
</%def>

<%def name="take_query()">
    const int frnn_unit = frnn_first + (int)get_global_id(0);
    if (frnn_unit >= frnn_end) return;
% if foreign:
    const int i = frnn_unit;
    const real_vec q = ${geometry.load("frnn_queries", "i")};
% else:
% if columns:
    const int i = FRNN_LANE_ID(frnn_sorted[${dim} * (size_t)frnn_n + frnn_unit]);
    const real_vec q = (real_vec)(${", ".join(f"frnn_sorted[{k} * (size_t)frnn_n + frnn_unit]" for k in range(dim))});
% else:
    const frnn_record frnn_own = frnn_sorted[frnn_unit];
    const int i = FRNN_LANE_ID(frnn_own.s3);
    const real_vec q = ${geometry.point_of("frnn_own")};
% endif
% endif
</%def>

<%def name="vectorised()">
% if width > 1:
#pragma clang loop vectorize_width(${width}) interleave_count(1) vectorize_predicate(enable)
% endif
</%def>

<%def name="run(function)">
    // The candidates of one run of places, frnn_t up to frnn_stop.
% if width > 1 and not function.light:
    // Sixty-four at a time: candidates are tested a vector at once and without a branch, those within reach become bits
    // of a mask, and only they are looked at one by one.
    for (; frnn_t < frnn_stop; frnn_t += 64) {
        const int frnn_many = min(frnn_stop - frnn_t, 64);
        ulong frnn_mask = 0;
        ${vectorised()}
        for (int frnn_k = 0; frnn_k < frnn_many; ++frnn_k) {
            ${take_candidate("frnn_t + frnn_k")}
            ${geometry.differences()}
            frnn_mask |= (ulong)(${geometry.squared()} <= reach2) << frnn_k;
        }
        for (; frnn_mask; frnn_mask &= frnn_mask - 1) {
            ${take_candidate("frnn_t + 63 - (int)clz(frnn_mask & -frnn_mask)")}
            ${visit.offer(function, within="1")}
        }
    }
% else:
    ${vectorised()}
    for (; frnn_t < frnn_stop; ++frnn_t) {
        ${take_candidate("frnn_t")}
        ${visit.offer(function)}
    }
% endif
</%def>

<%def name="take_candidate(place)">
% if columns:
    const int j = FRNN_LANE_ID(frnn_sorted[${dim} * (size_t)frnn_n + (${place})]);
% for k in range(dim):
    const real frnn_p${k} = frnn_sorted[${k} * (size_t)frnn_n + (${place})];
% endfor
% else:
    const frnn_record frnn_candidate = frnn_sorted[${place}];
    const int j = FRNN_LANE_ID(frnn_candidate.s3);
% for k in range(dim):
    const real frnn_p${k} = frnn_candidate.s${k};
% endfor
% endif
</%def>

<%def name="window()">
    // The cells that q - reach .. q + reach meets, reach being the radius padded by one rounding.
    // A window as wide as the torus stops before it comes round: each address is visited once.
% for k, component in enumerate(components):
<% cell = f"frnn_low.s{k}, frnn_inverse.s{k}, frnn_shape.s{k}, frnn_wrapped" %>\
    const int frnn_from${k} = frnn_cell(q${component} - frnn_reach, ${cell});
    const int frnn_to${k} = min(frnn_cell(q${component} + frnn_reach, ${cell}), frnn_from${k} + frnn_shape.s${k} - 1);
% endfor
</%def>

<%def name="rows()">
    // Rows of cells along the first axis; in the body, frnn_row is the address of the row's first cell.
% for k in reversed(range(1, dim)):
    for (int frnn_at${k} = frnn_from${k}; frnn_at${k} <= frnn_to${k}; ++frnn_at${k}) {
    const int frnn_lane${k} = FRNN_LANE(frnn_at${k}, frnn_shape.s${k}, frnn_wrapped);
% endfor
    const int frnn_row = ${"(frnn_lane2 * frnn_shape.s1 + frnn_lane1)" if dim == 3 else "frnn_lane1"} * frnn_shape.s0;
${caller.body()}
% for k in range(1, dim):
    }
% endfor
</%def>

<%def name="store(place)">
% if columns:
    const int place = ${place};
% for k, component in enumerate(components):
    sorted[${k} * (size_t)n + place] = p${component};
% endfor
    sorted[${dim} * (size_t)n + place] = FRNN_ID_LANE(i);
% else:
    sorted[${place}] = (frnn_record)(p.s0, p.s1, ${"p.s2" if dim == 3 else "0"}, FRNN_ID_LANE(i));
% endif
</%def>
