<%include file="/common/geometry.mako"/>
<%namespace name="bounding_box" file="/common/bounding_box.mako"/>
<%namespace name="cell_coordinate" file="/domain/cell_coordinate.mako"/>
<%namespace name="cells" file="/methods/grid/cells.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="periodic_images" file="/domain/periodic_images.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>\
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
// Sorts few points into cells by one work-item, on a device that takes longer for another launch than one work-item for
// the sort.
// Config fields used: dim, components, periodic, layout, work_group_size.
${cell_coordinate.functions(layout == "columns")}
${periodic_images.functions()}
// Writes the points in the order of cells, those of one cell in the order of their numbers; and finds their bounding box.
// Launch: one work-item.
// In: points (n, dim). Out: starts (all + 1,) of all cells; sorted, n points in the layout of the config; box: from box_start
// on the bounding box of the points.
// Exact because a point is counted and written by the same address.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void serial_cells(const int n, const int all, global const real *restrict points, ${cells.grid("")},
                  global int *restrict starts, ${point_layout.array("sorted")}, global real *restrict box, const int box_start)
{
    for (int k = 0; k <= all; ++k) starts[k] = 0;
    ${bounding_box.begin()}
    for (int i = 0; i < n; ++i) {
        const real_vec p = ${geometry.load("points", "i")};
% for k, component in enumerate(components):
        const real x${k} = ${lattice.placed("p", "images")}${component};
% endfor
        ${bounding_box.include_point("x", "i")}
        ${cells.address("p")}
        ++starts[address];
    }
    // starts holds the end of each cell at first, and decreases to its start as the points of the cell are written.
    int sum = 0;
    for (int k = 0; k <= all; ++k) {
        sum += starts[k];
        starts[k] = sum;
    }
    for (int i = n - 1; i >= 0; --i) {
        const real_vec p = ${geometry.load("points", "i")};
        ${cells.address("p")}
        const int slot = --starts[address];
        ${point_layout.store("sorted", "n", "slot", "p", "i")}
    }
    ${bounding_box.store("box + box_start", "0")}
}
