<%namespace name="geometry" file="/common/geometry.mako"/>
## Points in the order in which an index keeps them. In scope are frnn_n and frnn_sorted.
## layout: "records", one wide load for a point; "columns" of the coordinates and of ids, n long each, which compilers for
## CPUs load a vector at a time; "pairs", the same but for the first two coordinates, which stand beside each other: loads for
## work-items in step take a GPU as long as their bytes, and a count asks for no ids. In pairs what is not a number lies at
## infinity: fused tests look at signs, and the sign of what is not a number is anything.
## Config fields used: work_group_size, dim, components, layout, foreign, placed.
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
## Coordinates of the point at a place.
(real_vec)(\
% for k in range(dim):
${coordinate(k, place, array, n)}${"" if loop.last else ", "}\
% endfor
${", 0" * (vector_length - dim)})
</%def>

<%def name="point_id(place, array='frnn_sorted', n='frnn_n')" filter="trim">
FRNN_LANE_ID(${f"{array}[{place}].s3" if layout == "records" else f"{array}[{dim} * (size_t){n} + ({place})]"})
</%def>

<%def name="queries()">
## The copy that holds the queries, and of how many.
<% return ("frnn_placed", "frnn_many") if foreign else ("frnn_sorted", "frnn_n") %></%def>

<%def name="query(unit)">
% if foreign and not placed:
    const int i = ${unit};
    const real_vec frnn_q = ${geometry.load("frnn_queries", "i")};
% elif layout != "records":
    const int i = ${point_id(unit, *queries())};
    const real_vec frnn_q = ${point(unit, *queries())};
% else:
    const frnn_record frnn_own_record = ${queries()[0]}[${unit}];
    const int i = FRNN_LANE_ID(frnn_own_record.s3);
    const real_vec frnn_q = ${geometry.point_of("frnn_own_record")};
% endif
</%def>

<%! number = lambda x: f"(isnan({x}) ? INFINITY : {x})" %>\
<%def name="put(array, n, place, p, i)">
## Keep point p, of number i, at a place of an array of n.
% if layout == "records":
    ${array}[${place}] =
        (frnn_record)(${", ".join([f"{p}{component}" for component in components] + ["0"] * (3 - dim))}, FRNN_ID_LANE(${i}));
% else:
% if layout == "pairs":
    ((global frnn_pair *)${array})[${place}] = (frnn_pair)(${", ".join(number(f"{p}{components[k]}") for k in range(2))});
% endif
% for k in range(2 if layout == "pairs" else 0, dim):
    ${array}[${k} * (size_t)${n} + (${place})] = ${number(f"{p}{components[k]}") if layout == "pairs" else f"{p}{components[k]}"};
% endfor
    ${array}[${dim} * (size_t)${n} + (${place})] = FRNN_ID_LANE(${i});
% endif
</%def>

<%def name="put_record(array, n, place, record)">
## The same of a record.
% if layout == "records":
    ${array}[${place}] = ${record};
% else:
    {
        const frnn_record kept = ${record};
        const real_vec point = ${geometry.point_of("kept")};
        ${put(array, n, place, "point", "FRNN_LANE_ID(kept.s3)")}
    }
% endif
</%def>

<%def name="read_back()">
// The numbers of points by their places. Launch: one work-item per place. In: frnn_sorted. Out: order (n,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void read_order(const int frnn_n, ${constant_array("frnn_sorted")}, global int *restrict order)
{
    const int t = get_global_id(0);
    if (t < frnn_n) order[t] = ${point_id("t")};
}

// Points by their numbers. Launch: one work-item per place. In: frnn_sorted. Out: points (n, dim).
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

<%def name="take_candidate(place)">
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
