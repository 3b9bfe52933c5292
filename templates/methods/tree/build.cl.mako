<%include file="/common/geometry.mako"/>
<%include file="/primitives/occupancy_sample.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>\
<%namespace name="node_boxes" file="/methods/tree/node_boxes.mako"/>
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
<%namespace name="periodic_images" file="/domain/periodic_images.mako"/>
<%namespace name="refit" file="/methods/tree/refit.mako"/>
<%namespace name="upper_nodes" file="/methods/tree/upper_nodes.mako"/>
<%namespace name="radius_order" file="/methods/tree/radius_order.mako"/>
<%namespace name="median_halves" file="/methods/tree/median_halves.mako"/>
<%namespace name="hilbert_curve" file="/methods/tree/hilbert_curve.mako"/>
<%namespace name="splitters" file="/methods/tree/splitters.mako"/>
// Builds a tree: sorts points in the order of a space-filling curve, and fits boxes to them from the leaves up.
// With periodic axes, keys and boxes are those of the images of points in the box.
// Config fields used: work_group_size, dim, real, periodic, layout, leaves, halved.
${periodic_images.functions()}
${hilbert_curve.functions()}

<%def name="image_numbers()" filter="trim">
% if periodic:
, ${lattice.array("")}
% endif
</%def>

// Computes the key of each point on the curve.
// Launch: one work-item per point, groups of ${work_group_size}.
// In: points (n, dim); bulk: where most of the points lie; images; part: whether the places within small cubes are wanted.
// Out: keys (n,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void curve_places(const int n, global const real *restrict points, global const real *restrict bulk${image_numbers()},
                  const int part, global ulong *restrict keys)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    ${hilbert_curve.key_of("points", inverse_row=2, part="part")}
    keys[i] = key;
}

// Computes the leading bits of the key of each query on the curve.
// Launch: one work-item per query, groups of ${work_group_size}.
// In: queries (n, dim); bulk of the points; dropped: how many trailing bits are left out; images.
// Out: keys (n,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void curve_keys(const int n, const int dropped, global const real *restrict queries,
                global const real *restrict bulk${image_numbers()}, global uint *restrict keys)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    ${hilbert_curve.key_of("queries", inverse_row=1)}
    keys[i] = (uint)(key >> dropped);
}

${splitters.kernels(image_numbers)}

% if halved:
${median_halves.kernels(image_numbers)}
% endif

${radius_order.kernels()}

<%def name="fit_arguments()" filter="trim">
const int frnn_n, const int frnn_leaves, const int frnn_leaf_size, const int fresh, const real least, const real radius, global const real *restrict points
    ${image_numbers()}, ${point_layout.array("sorted")}, ${node_boxes.array("nodes")},
    global real *restrict volumes, global int *restrict partials, global real *restrict growths,
    const int known, global real *restrict boxes, const int box_start
</%def>

// Builds the leaves of a tree over points in a given order, and fits the boxes of all nodes.
// Launch: a group of ${work_group_size} for each ${leaves} leaves.
// In: order (n,), the number of the point at each place; frnn_leaves, a power of two; fresh: whether volumes are
// written, otherwise they are compared with; least: the shortest side that counts; radius: the largest radius of
// queries; points (n, dim); images; known: whether boxes is left as it is. In and out: partials: a column of ints for
// each group, and the number of groups that are done; all zero before and after; volumes: the logarithms of the volumes
// of leaves that hold points. Out: sorted, the n points in search order; nodes; growths (2,): the logarithm of the
// largest growth of a leaf, and the sum over points of how many points a cube of side radius holds around them; boxes:
// from box_start on the low corner, the high corner and the first row that is not finite.
// Correct because the group that is done last has seen that the results of all groups have arrived.
// Source: Xing, Wang, Hui (2016), §4.3.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void fit_ordered(global const int *restrict order, ${fit_arguments()})
{
    ${refit.fit_leaves(again=False)}
    ${upper_nodes.fit_top()}
}

// Fits a tree as fit_ordered does, over points that have moved and stay in the order of a tree before.
// Launch, in and out: as fit_ordered, but before, a sorted copy, in place of order.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void fit_again(${point_layout.constant_array("before")}, ${fit_arguments()})
{
    ${refit.fit_leaves(again=True)}
    ${upper_nodes.fit_top()}
}

${point_layout.read_back_kernels()}
