## Defines the difference from a query to the nearest image of a point, in launches that know the pair but not its image.
## In scope: the point p, the query q and, with periodic axes, `period`, as period_numbers of
## clfrnn/methods/domain_tables/periodic_images.py writes it.
## Config fields used: dim, components, periodic.
<%namespace name="lattice" file="/domain/lattice.mako"/>
<%def name="differences()">
% if skewed:
    ${differences_in_cell()}
% else:
% for k, component in enumerate(components):
    ${difference(k, component)}
% endfor
% endif
</%def>

<%def name="difference(k, component)">
    real d${k} = p${component} - q${component};
% if periodic:
    // The neighbor is the nearest image of the point, because the radius is less than half the length by more than rounding is.
    int s${k} = 0;
    if (period[${k}] > 0) {
        const real length = period[${k}], plain = d${k};
        const int image = (int)fmin(fmax(rint(-plain * period[${dim + k}]), (real)-FRNN_FARTHEST), (real)FRNN_FARTHEST);
        for (int shift = image - 1; shift <= image + 1; ++shift) {
            const real other = plain + (real)shift * length;
            if (shift == image - 1 || fabs(other) < fabs(d${k})) {
                d${k} = other;
                s${k} = shift;
            }
        }
    }
% endif
</%def>

<%def name="differences_in_cell()">
    // The heights of the difference tell the nearest image, or one beside it where they are rounded.
<% dims = range(dim) %>\
    real ${", ".join(f"plain{k} = p{components[k]} - q{components[k]}, d{k} = plain{k}" for k in dims)}, least = INFINITY;
    int ${", ".join(f"s{k} = 0" for k in dims)};
% for axis in dims:
    const real height${axis} = ${lattice.sum_of([f"{lattice.normal_of_period(axis, k)} * plain{k}" for k in dims])};
    const int image${axis} = (int)fmin(fmax(rint(-height${axis} * period[${dim + axis}]), (real)-FRNN_FARTHEST), (real)FRNN_FARTHEST);
    const int beside${axis} = period[${axis}] > 0;
% endfor
% for axis in dims:
    for (int near${axis} = image${axis} - beside${axis}; near${axis} <= image${axis} + beside${axis}; ++near${axis}) {
% endfor
% if reduced:
% for k in dims:
        const int shift${k} = ${" + ".join(f"near{axis} * {lattice.combination_of_period(axis, k)}" for axis in dims)};
% endfor
% endif
<% shift = "shift" if reduced else "near" %>\
% for k in dims:
        const real other${k} = plain${k} + (${lattice.sum_of([f"(real){shift}{axis} * {lattice.vector_of_period(axis, k)}" for axis in dims])});
% endfor
        const real far = ${" + ".join(f"other{k} * other{k}" for k in dims)};
        if (far < least) {
            least = far;
% for k in dims:
            d${k} = other${k};
            s${k} = ${shift}${k};
% endfor
        }
% for axis in dims:
    }
% endfor
</%def>
