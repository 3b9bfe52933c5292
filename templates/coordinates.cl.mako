// Coordinates of cells on one axis.

// Coordinate of x on one axis. Monotone in x, rounding included, which is all that exactness asks of it; it is clamped
// before the conversion, so that no value, NaN included, leaves the integers.
int frnn_coordinate(const real x, const real low, const real inverse)
{
    const real range = 536870912;
    return (int)floor(fmin(fmax((x - low) * inverse, -range), range));
}

// The same, kept between the first cell and the last: those of a grid that holds its domain, or of a period; any integer
// where addresses wrap.
int frnn_cell(const real x, const real low, const real inverse, const int first, const int last)
{
    return clamp(frnn_coordinate(x, low, inverse), first, last);
}
