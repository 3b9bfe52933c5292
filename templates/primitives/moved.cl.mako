<%include file="/common/geometry.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>
<%namespace name="nearest_image" file="/domain/nearest_image.mako"/>\
// Whether any point has moved too far: farther than it may, less what rounding may hide at its coordinates.
// Launch: one work-item per point, groups of ${work_group_size}.
// In: before and points (n, ${dim}), the positions then and now; most, how far a point may move; share, the share of
// coordinates that rounding may hide; serial; with periodic axes the numbers of the nearest image, see /domain/nearest_image.mako,
// and of many systems the system of each point. A displacement is to the nearest image.
// Out: copy (n, ${dim}), the points; wraps (n, ${dim}), how often each point was shifted along each axis or lattice vector;
// moved (1,), which is serial where a point has moved too far, or has a coordinate that is not finite.
// Config fields used: work_group_size, dim, components, real, periodic, batched, wraps.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void find_moved(const int n, global const real *restrict before, global const real *restrict points, const real most,
                const real share, const int serial, global real *restrict copy, global int *restrict moved
% if periodic:
                , global const real *restrict ${"periods" if batched else "period"}
% if batched:
                , global const int *restrict systems
% endif
% endif
% if wraps:
                , global int *restrict wraps
% endif
                )
{
    const int i = get_global_id(0);
    if (i >= n) return;
    const real_vec p = ${geometry.load("before", "i")}, q = ${geometry.load("points", "i")};
% if batched:
    ${lattice.period_of("periods", "systems[i]")}
% endif
    ${nearest_image.differences()}
    const real square = ${" + ".join(f"d{k} * d{k}" for k in range(dim))};
    const real may = most - share * (${" + ".join(f"fabs(p{c}) + fabs(q{c})" for c in components)});
    // Written so that a point which is not finite has moved. All work-items that write here write the same number.
    if (!(may >= 0 && square <= may * may)) moved[0] = serial;
% for k, component in enumerate(components):
    copy[(size_t)i * ${dim} + ${k}] = q${component};
% if wraps:
    wraps[(size_t)i * ${dim} + ${k}] = s${k};
% endif
% endfor
}
