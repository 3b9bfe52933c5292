## Defines how points are stored in search order, and how they are loaded from there.
## In scope: frnn_sorted, the sorted copy, and frnn_n, the number of its points.
## `layout` is one of three. "records": one wide load for each point. "columns": a column of n numbers for each
## coordinate and one for the ids; compilers for CPUs load a vector from a column. "pairs": as columns, but the first two
## coordinates of a point stand beside each other. A GPU takes as long for the loads of work-items in lockstep as they
## have bytes, and a count does not load the ids. Pairs hold infinity in place of NaN: fused tests look at signs, and NaN
## may have either sign.
## Config fields used: work_group_size, dim, components, vector_length, layout, foreign, placed.
<%namespace name="geometry" file="/common/geometry.mako"/>
<%def name="array(name)" filter="trim">
global ${"frnn_record" if layout == "records" else "real"} *restrict ${name}
</%def>

<%def name="constant_array(name)" filter="trim">
global const ${"frnn_record" if layout == "records" else "real"} *restrict ${name}
</%def>

<%def name="coordinate(k, place, array, n='frnn_n')" filter="trim">
% if layout == "records":
${array}[${place}].s${k}
% elif layout == "pairs" and k < 2:
((global const frnn_pair *)${array})[${place}].s${k}
% else:
${array}[${k} * (size_t)${n} + (${place})]
% endif
</%def>

<%def name="point(place, array='frnn_sorted', n='frnn_n')" filter="trim">
## The coordinates of the point at a place.
(real_vec)(\
% for k in range(dim):
${coordinate(k, place, array, n)}${"" if loop.last else ", "}\
% endfor
${", 0" * (vector_length - dim)})
</%def>

<%def name="point_id(place, array='frnn_sorted', n='frnn_n')" filter="trim">
FRNN_LANE_ID(${f"{array}[{place}].s3" if layout == "records" else f"{array}[{dim} * (size_t){n} + ({place})]"})
</%def>

<%def name="query_array()">
## The sorted copy that holds the queries, and the number of these.
<% return ("frnn_placed", "frnn_many") if foreign else ("frnn_sorted", "frnn_n") %></%def>

<%def name="load_query(unit)">
## Declares i and frnn_q of the query at a place, or of query number `unit` where queries have no copy.
% if foreign and not placed:
    const int i = ${unit};
    const real_vec frnn_q = ${geometry.load("frnn_queries", "i")};
% elif layout != "records":
    const int i = ${point_id(unit, *query_array())};
    const real_vec frnn_q = ${point(unit, *query_array())};
% else:
    const frnn_record frnn_own_record = ${query_array()[0]}[${unit}];
    const int i = FRNN_LANE_ID(frnn_own_record.s3);
    const real_vec frnn_q = ${geometry.point_of("frnn_own_record")};
% endif
</%def>

<%! finite_or_infinite = lambda x: f"(isnan({x}) ? INFINITY : {x})" %>\
<%def name="store(array, n, place, p, i)">
## Stores point p, whose number is i, at a place of an array of n points.
% if layout == "records":
    ${array}[${place}] =
        (frnn_record)(${", ".join([f"{p}{component}" for component in components] + ["0"] * (3 - dim))}, FRNN_ID_LANE(${i}));
% else:
% if layout == "pairs":
    ((global frnn_pair *)${array})[${place}] = (frnn_pair)(${", ".join(finite_or_infinite(f"{p}{components[k]}") for k in range(2))});
% endif
% for k in range(2 if layout == "pairs" else 0, dim):
    ${array}[${k} * (size_t)${n} + (${place})] = ${finite_or_infinite(f"{p}{components[k]}") if layout == "pairs" else f"{p}{components[k]}"};
% endfor
    ${array}[${dim} * (size_t)${n} + (${place})] = FRNN_ID_LANE(${i});
% endif
</%def>

<%def name="store_record(array, n, place, record)">
## Stores a record at a place of an array of n points.
% if layout == "records":
    ${array}[${place}] = ${record};
% else:
    {
        const frnn_record stored = ${record};
        const real_vec point = ${geometry.point_of("stored")};
        ${store(array, n, place, "point", "FRNN_LANE_ID(stored.s3)")}
    }
% endif
</%def>

<%def name="read_back_kernels()">
// Writes the number of the point at each place.
// Launch: one work-item per place, groups of ${work_group_size}.
// In: frnn_sorted, n points in search order. Out: order (n,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void read_order(const int frnn_n, ${constant_array("frnn_sorted")}, global int *restrict order)
{
    const int t = get_global_id(0);
    if (t < frnn_n) order[t] = ${point_id("t")};
}

// Writes the coordinates of each point, by the point's number.
// Launch: one work-item per place, groups of ${work_group_size}.
// In: frnn_sorted, n points in search order. Out: points (n, dim).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void read_points(const int frnn_n, ${constant_array("frnn_sorted")}, global real *restrict points)
{
    const int t = get_global_id(0);
    if (t >= frnn_n) return;
    const size_t i = ${point_id("t")};
    const real_vec p = ${point("t")};
% for k, component in enumerate(components):
    points[i * ${dim} + ${k}] = p${component};
% endfor
}
</%def>

<%def name="load_candidate(place)">
## Declares j and frnn_p0, frnn_p1, ... of the candidate at a place.
% if layout == "records":
    const frnn_record frnn_candidate = frnn_sorted[${place}];
    const int j = FRNN_LANE_ID(frnn_candidate.s3);
% for k in range(dim):
    const real frnn_p${k} = frnn_candidate.s${k};
% endfor
% else:
    const int j = ${point_id(place)};
% for k in range(dim):
    const real frnn_p${k} = ${coordinate(k, place, "frnn_sorted")};
% endfor
% endif
</%def>
