<%include file="/common/geometry.mako"/>
<%include file="/common/cell_coordinate.mako"/>
<%namespace name="bounds" file="/common/bounding_box.mako"/>
<%namespace name="cells" file="/grid/cells.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="periodic_box" file="/common/periodic_images.mako"/>
<%namespace name="places" file="/common/point_layout.mako"/>
// Few points into the order of cells by one work-item, on a device that takes longer for a launch than an item for these.
// Config fields used: dim, components, periodic, layout, work_group_size.
${periodic_box.numbers()}
// Launch: one work-item. In: points (n, dim). Out: starts (all + 1,), of all cells; sorted, in each cell in the order of
// input; box (2 * dim + 1,) of the points from place on.
// Exact because a point is counted and placed by the same address.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void serial_cells(const int n, const int all, global const real *restrict points, ${cells.grid("")},
                  global int *restrict starts, ${places.array("sorted")}, global real *restrict box, const int place)
{
    for (int k = 0; k <= all; ++k) starts[k] = 0;
    ${bounds.begin()}
    for (int i = 0; i < n; ++i) {
        const real_vec p = ${geometry.load("points", "i")};
% for k, component in enumerate(components):
        const real x${k} = p${component};
% endfor
        ${bounds.take("x", "i")}
        ${cells.address("p")}
        ++starts[address];
    }
    // Where each cell ends, from which its last point goes down to where it starts.
    int sum = 0;
    for (int k = 0; k <= all; ++k) {
        sum += starts[k];
        starts[k] = sum;
    }
    for (int i = n - 1; i >= 0; --i) {
        const real_vec p = ${geometry.load("points", "i")};
        ${cells.address("p")}
        const int slot = --starts[address];
        ${places.put("sorted", "n", "slot", "p", "i")}
    }
    ${bounds.keep("box + place", "0")}
}
