<%include file="/common/geometry.mako"/>
<%include file="/primitives/occupancy_sample.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="boxes" file="/tree/node_boxes.mako"/>
<%namespace name="places" file="/common/point_layout.mako"/>
<%namespace name="periodic_box" file="/common/periodic_images.mako"/>
<%namespace name="refit" file="/tree/refit.mako"/>
<%namespace name="tops" file="/tree/upper_nodes.mako"/>
<%namespace name="radii" file="/tree/radius_order.mako"/>
<%namespace name="halves" file="/tree/median_halves.mako"/>
<%namespace name="curve" file="/tree/hilbert_curve.mako"/>
<%namespace name="quantiles" file="/tree/splitters.mako"/>
// Makes a tree: points in the order of a space-filling curve, so many of them in a leaf; boxes from the leaves up.
// Config fields used: work_group_size, dim, real, periodic, layout, leaves, halved.
// With periodic axes, keys and boxes are those of the points' images in the box.
${periodic_box.numbers()}
${curve.numbers()}

<%def name="image_numbers()" filter="trim">
% if periodic:
, global const real *restrict images
% endif
</%def>

// The place of each point on the curve.
// Launch: one work-item per point. In: points (n, dim); boxes: low and high of them from place on. Out: keys (n,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void curve_places(const int n, global const real *restrict points, global const real *restrict boxes,
                  const int place${image_numbers()}, global ulong *restrict keys)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    ${curve.key_of("points", of=2)}
    keys[i] = key;
}

// The place of each query on the curve, and of that the first bits alone, without those behind them.
// Launch: one work-item per query. In: queries (n, dim); nodes of the tree, whose root is the box of its points. Out: keys (n,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void curve_keys(const int n, const int behind, global const real *restrict queries,
                ${boxes.constant_array("nodes")}${image_numbers()}, global uint *restrict keys)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    ${curve.key_of("queries", of=1, nodes="nodes")}
    keys[i] = (uint)(key >> behind);
}

${quantiles.kernels(image_numbers)}

% if halved:
${halves.order_by_halves(image_numbers)}
% endif

${radii.order_by_radii()}

<%def name="fit_arguments()" filter="trim">
const int frnn_n, const int frnn_leaves, const int frnn_leaf_size, const int fresh, const real least, const real radius, global const real *restrict points
    ${image_numbers()}, ${places.array("sorted")}, ${boxes.array("nodes")},
    global real *restrict volumes, global int *restrict told, global real *restrict growths,
    const int known, global real *restrict boxes, const int place
</%def>

// A tree of points in a given order: the leaves, and the boxes above them.
// Launch: a group for each ${leaves} leaves. In: order (n,), place -> point; leaves: a power of two; fresh: whether volumes
// are to be written, or compared with; least: the shortest side that counts; radius: the largest of queries;
// points (n, dim). In and out: told, what groups have found and how many have ended, all zero before and after. Out: sorted;
// nodes; volumes of leaves that hold points, logarithms; growths (2,): the largest growth of a leaf, as a logarithm, and the
// sum over points of how many a cube of side radius holds where they are; boxes from place on, unless these are known: low,
// high and first bad row of all points.
// Exact because a group counts itself when all that it gives has arrived, and the last one has seen that all have.
// Source: Xing, Wang, Hui (2016), §4.3.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void fit_ordered(global const int *restrict order, ${fit_arguments()})
{
    ${refit.fit_leaves(again=False)}
    ${tops.fit_top()}
}

// The same for points that keep the places that they had before.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void fit_again(${places.constant_array("before")}, ${fit_arguments()})
{
    ${refit.fit_leaves(again=True)}
    ${tops.fit_top()}
}

${places.read_back()}
