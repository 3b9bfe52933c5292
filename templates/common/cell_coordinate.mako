<% in_columns = context.get("layout") == "columns" %>\
// Coordinates of cells on one axis.

// Coordinate of x on one axis. Monotone in x, rounding included, which is all that exactness asks of it; it is clamped
// before the conversion, so that no value, NaN included, leaves the integers.
int frnn_coordinate(const real x, const real low, const real inverse)
{
    const real range = 536870912;
% if in_columns:
    // Of a CPU, without built-in functions: see batches.cl.mako.
    real within = (x - low) * inverse;
    within = within > -range ? within : -range;
    within = within < range ? within : range;
    return (int)within - ((real)(int)within > within);
% else:
    return (int)floor(fmin(fmax((x - low) * inverse, -range), range));
% endif
}

// The same, kept between the first cell and the last: those of a grid that holds its domain, or of a period; any integer
// where addresses wrap.
int frnn_cell(const real x, const real low, const real inverse, const int first, const int last)
{
% if in_columns:
    const int at = frnn_coordinate(x, low, inverse);
    return at < first ? first : at > last ? last : at;
% else:
    return clamp(frnn_coordinate(x, low, inverse), first, last);
% endif
}
