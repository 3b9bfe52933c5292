## Defines the coordinate of a position on one axis of a grid of cells.
## In scope: the types of /common/types.mako.
<%def name="functions(columns)">
## columns: whether points lie in columns, as on a CPU.
// The cell coordinate of x on one axis. It never decreases when x increases, with rounding included; exactness needs no
// more than this. It is clamped before the conversion, so that every x, NaN included, gives an int.
int frnn_coordinate(const real x, const real low, const real inverse)
{
    const real range = 536870912;
% if columns:
    // For a CPU, without built-in functions: see /methods/simd_batch.mako.
    real within = (x - low) * inverse;
    within = within > -range ? within : -range;
    within = within < range ? within : range;
    return (int)within - ((real)(int)within > within);
% else:
    return (int)floor(fmin(fmax((x - low) * inverse, -range), range));
% endif
}

// The cell coordinate of x, clamped to the cells from first to last. These are the cells of a grid that holds its
// domain, or of one period; they are all integers where addresses wrap.
int frnn_cell(const real x, const real low, const real inverse, const int first, const int last)
{
% if columns:
    const int at = frnn_coordinate(x, low, inverse);
    return at < first ? first : at > last ? last : at;
% else:
    return clamp(frnn_coordinate(x, low, inverse), first, last);
% endif
}
</%def>
