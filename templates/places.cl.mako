<%namespace name="geometry" file="geometry.cl.mako"/>
<%namespace name="marks_of" file="marks.cl.mako"/>
<%namespace name="visit" file="visit.cl.mako"/>
## Points in the order in which an index keeps them: an array of records, or columns of the coordinates and of ids, n long
## each, which compilers for CPUs load a vector at a time. In scope are frnn_n and frnn_sorted.
## Config fields used: work_group_size, dim, columns, width, unrolled, bits, foreign, images, marks.
<%def name="array(name)" filter="trim">
global ${"real" if columns else "frnn_record"} *restrict ${name}
</%def>

<%def name="constant_array(name)" filter="trim">
global const ${"real" if columns else "frnn_record"} *restrict ${name}
</%def>

<%def name="point(place, array='frnn_sorted')" filter="trim">
## Coordinates of the point at a place.
<% spare = ["0"] * (vector_length - dim) %>\
% if columns:
(real_vec)(${", ".join([f"{array}[{k} * (size_t)frnn_n + ({place})]" for k in range(dim)] + spare)})
% else:
(real_vec)(${", ".join([f"{array}[{place}].s{k}" for k in range(dim)] + spare)})
% endif
</%def>

<%def name="point_id(place, array='frnn_sorted')" filter="trim">
% if columns:
FRNN_LANE_ID(${array}[${dim} * (size_t)frnn_n + (${place})])
% else:
FRNN_LANE_ID(${array}[${place}].s3)
% endif
</%def>

<%def name="query(unit)">
% if foreign:
    const int i = ${unit};
    const real_vec frnn_q = ${geometry.load("frnn_queries", "i")};
% elif columns:
    const int i = ${point_id(unit)};
    const real_vec frnn_q = ${point(unit)};
% else:
    const frnn_record frnn_own_record = frnn_sorted[${unit}];
    const int i = FRNN_LANE_ID(frnn_own_record.s3);
    const real_vec frnn_q = ${geometry.point_of("frnn_own_record")};
% endif
</%def>

<%def name="put(array, n, place, p, i)">
## Keep point p, of number i, at a place of an array of n.
% if columns:
% for k, component in enumerate(components):
    ${array}[${k} * (size_t)${n} + ${place}] = ${p}${component};
% endfor
    ${array}[${dim} * (size_t)${n} + ${place}] = FRNN_ID_LANE(${i});
% else:
    ${array}[${place}] =
        (frnn_record)(${", ".join([f"{p}{component}" for component in components] + ["0"] * (3 - dim))}, FRNN_ID_LANE(${i}));
% endif
</%def>

<%def name="read_order()">
// The numbers of points by their places. Launch: one work-item per place. In: frnn_sorted. Out: order (n,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void read_order(const int frnn_n, ${constant_array("frnn_sorted")}, global int *restrict order)
{
    const int t = get_global_id(0);
    if (t < frnn_n) order[t] = ${point_id("t")};
}
</%def>

<%def name="splits(function)"><% return function.light and images == "home" %></%def>

<%def name="vectorised()">
% if width > 1:
#pragma clang loop vectorize_width(${width}) interleave_count(1) vectorize_predicate(enable)
% endif
</%def>

<%def name="run(function, image)">
    // The candidates of one run of places, frnn_t up to frnn_stop, in an image as periodic.cl.mako names it.
% if marks == "made":
    ${marked_run(function, image)}
% elif width > 1 and function.light:
    ${vectorised() if image != "any" else ""}
    for (; frnn_t < frnn_stop; ++frnn_t) {
        ${take_candidate("frnn_t")}
        ${visit.offer(function, image)}
    }
% elif width > 1:
    // Sixty-four at a time: candidates are tested a vector at once and without a branch, those within reach become bits
    // of a mask, and only they are looked at one by one.
    for (; frnn_t < frnn_stop; frnn_t += 64) {
        const int frnn_many = frnn_min(frnn_stop - frnn_t, 64);
        ulong frnn_hits = 0;
        ${vectorised() if image != "any" else ""}
        for (int frnn_k = 0; frnn_k < frnn_many; ++frnn_k) {
            ${take_candidate("frnn_t + frnn_k")}
            ${geometry.differences(image)}
            frnn_hits |= (ulong)(${geometry.squared()} <= reach2) << frnn_k;
        }
        for (; frnn_hits; frnn_hits &= frnn_hits - 1) {
            ${take_candidate("frnn_t + 63 - (int)frnn_clz(frnn_hits & -frnn_hits)")}
            ${visit.offer(function, image, within="1")}
        }
    }
% else:
% if function.light and unrolled:
#pragma unroll ${unrolled[image != "plain" and images != "next"]}
% endif
    for (; frnn_t < frnn_stop; ++frnn_t) {
        ${take_candidate("frnn_t")}
        ${visit.offer(function, image)}
    }
% endif
</%def>

<%def name="marked_run(function, image)">
    // So many candidates at a time as a word of marks has bits, the first of them in the highest.
    for (; frnn_t < frnn_stop; frnn_t += ${bits}) {
        const int frnn_many = min(frnn_stop - frnn_t, ${bits});
        frnn_bits frnn_hits = 0;
        ${vectorised()}
% if width == 1:
#pragma unroll ${unrolled[0]}
% endif
        for (int frnn_k = 0; frnn_k < frnn_many; ++frnn_k) {
            ${take_candidate("frnn_t + frnn_k")}
            ${geometry.differences(image)}
            const int frnn_near = (${geometry.squared()} <= reach2) & ${visit.kept(image)};
            ${"frnn_hits |= (frnn_bits)frnn_near << (%d - frnn_k);" % (bits - 1) if width > 1 else "frnn_hits += frnn_hits + frnn_near;"}
        }
        ${"" if width > 1 else "frnn_hits <<= %d - frnn_many;" % bits}
        frnn_count += (int)popcount(frnn_hits);
        ${marks_of.keep("frnn_t", "frnn_hits")}
    }
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
