// The cells of a window on one axis. Config fields used: columns.

// The first and the last cell of the window that reaches so far around x, each within [first, last].
% if columns:
int frnn_window_from(const real x, const real reach, const real low, const real inverse, const int first, const int last)
{
    return frnn_cell(x - reach, low, inverse, first, last);
}
int frnn_window_to(const real x, const real reach, const real low, const real inverse, const int first, const int last)
{
    return frnn_cell(x + reach, low, inverse, first, last);
}
% else:
// On a GPU a reach that is nearly so many whole cells is given them: work-items side by side, whose windows would begin one
// cell apart here and there, then go through the same cells in step.
int frnn_whole_cells(const real reach, const real inverse) { return (int)fmin(reach * inverse + (real)0.15, (real)65536); }

int frnn_window_from(const real x, const real reach, const real low, const real inverse, const int first, const int last)
{
    const int whole = frnn_coordinate(x, low, inverse) - frnn_whole_cells(reach, inverse);
    return clamp(min(whole, frnn_coordinate(x - reach, low, inverse)), first, last);
}
int frnn_window_to(const real x, const real reach, const real low, const real inverse, const int first, const int last)
{
    const int whole = frnn_coordinate(x, low, inverse) + frnn_whole_cells(reach, inverse);
    return clamp(max(whole, frnn_coordinate(x + reach, low, inverse)), first, last);
}
% endif
