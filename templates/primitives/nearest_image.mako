## Defines the difference from a query to the nearest image of a point, in launches that know the pair but not its image.
## In scope: the point p, the query q and, with periodic axes, `period`, as period_numbers of
## clfrnn/primitives/periodic_images.py writes it.
## Config fields used: dim, periodic.
<%def name="difference(k, component)">
    real d${k} = p${component} - q${component};
% if periodic:
    // The neighbor is the nearest image of the point, because the radius is less than half the length by more than rounding is.
    int s${k} = 0;
    if (period[${k}] > 0) {
        const real length = period[${k}], plain = d${k};
        const int turns = (int)fmin(fmax(rint(-plain * period[${dim + k}]), (real)-FRNN_FARTHEST), (real)FRNN_FARTHEST);
        for (int turn = turns - 1; turn <= turns + 1; ++turn) {
            const real other = plain + (real)turn * length;
            if (turn == turns - 1 || fabs(other) < fabs(d${k})) {
                d${k} = other;
                s${k} = turn;
            }
        }
    }
% endif
</%def>
