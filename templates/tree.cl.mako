<%include file="geometry.cl.mako"/>
<%namespace name="geometry" file="geometry.cl.mako"/>
<%namespace name="boxes" file="boxes.cl.mako"/>
<%namespace name="places" file="places.cl.mako"/>
<%namespace name="periodic_box" file="periodic.cl.mako"/>
<%namespace name="refit" file="refit.cl.mako"/>
<%namespace name="tops" file="tops.cl.mako"/>
<%namespace name="radii" file="radii.cl.mako"/>
<%namespace name="halves" file="halves.cl.mako"/>
// Makes a tree: points in the order of a space-filling curve, so many of them in a leaf; boxes from the leaves up.
// Config fields used: work_group_size, dim, real, periodic, layout, leaves, halved.
// With periodic axes, keys and boxes are those of the points' images in the box.
${periodic_box.numbers()}

<%def name="image_numbers()" filter="trim">
% if periodic:
, global const real *restrict images
% endif
</%def>

<%def name="curve_keys(key)">
    const int i = get_global_id(0);
    if (i >= n) return;
    const real_vec p = ${geometry.load("points", "i")};
    ${refit.at_home("p", "of")}
    // The cube of 2 to the power bits cells on a side that the point lies in; by halves, as the box may be wider than any number.
    real widest = 0;
% for k in range(dim):
% if periodic:
    const int turning${k} = frnn_length${k} > 0;
    const real low${k} = turning${k} ? frnn_start${k} : boxes[place + ${k}];
    widest = fmax(widest, turning${k} ? frnn_length${k} / 2 : boxes[place + ${dim + k}] / 2 - low${k} / 2);
% else:
    const real low${k} = boxes[place + ${k}];
    widest = fmax(widest, boxes[place + ${dim + k}] / 2 - low${k} / 2);
% endif
% endfor
    const real cells = (real)(1u << bits), most = cells - 1;
% for k in range(dim):
    uint c${k} = (uint)fmin(fmax((x${k} / 2 - low${k} / 2) / widest * cells, (real)0), most);
% endfor
    // Its number along the curve, bit by bit from the highest: each half turns the curve in it (Skilling 2004).
    for (uint bit = 1u << (bits - 1); bit > 1; bit /= 2) {
        const uint below = bit - 1;
        if (c0 & bit) c0 ^= below;
% for k in range(1, dim):
        if (c${k} & bit) {
            c0 ^= below;
        } else {
            const uint other = (c0 ^ c${k}) & below;
            c0 ^= other;
            c${k} ^= other;
        }
% endfor
    }
% for k in range(1, dim):
    c${k} ^= c${k - 1};
% endfor
    uint turned = 0;
    for (uint bit = 1u << (bits - 1); bit > 1; bit /= 2)
        if (c${dim - 1} & bit) turned ^= bit - 1;
    ${key} key = 0;
    for (int bit = bits - 1; bit >= 0; --bit) {
% for k in range(dim):
        key = key << 1 | (${key})((c${k} ^ turned) >> bit & 1);
% endfor
    }
    keys[i] = key;
</%def>

// The place of each point on a Hilbert curve through cubes, 2 to the power bits of them on a side; keys of dim * bits bits.
// A curve without jumps: what follows each other on it lies together, so that leaves are compact.
// Launch: one work-item per point. In: of: 2 for the points of the tree, 1 for others; points (n, dim); boxes: low and high of
// the tree's points from place on. Out: keys (n,).
% for name, key in (("curve_keys", "uint"), ("long_curve_keys", "ulong")):
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void ${name}(const int n, const int bits, const int of, global const real *restrict points, global const real *restrict boxes,
             const int place${image_numbers()}, global ${key} *restrict keys)
{
    ${curve_keys(key)}
}
% endfor

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

${places.read_order()}
