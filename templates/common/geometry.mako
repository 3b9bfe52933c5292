<%include file="/common/types.mako"/>
<%namespace name="periodic_box" file="/common/periodic_images.mako"/>
// Loads, squared distances and roots, rounded as numpy rounds them.
// Config fields used: dim, components, periodic.
<%def name="load(array, row)" filter="trim">
(real_vec)(\
% for k in range(dim):
${array}[(size_t)(${row}) * ${dim} + ${k}]${"" if loop.last else ", "}\
% endfor
${", 0" * (vector_length - dim)}\
)
</%def>

<%def name="point_of(record)" filter="trim">
(real_vec)(\
% for k in range(dim):
${record}.s${k}${"" if loop.last else ", "}\
% endfor
)
</%def>

<%def name="differences(image)">
## image: "plain", the candidates' own coordinates; "moved", all by one shift; "along", that on the first axis alone;
## "any", each by its own.
    // From the query to a candidate, coordinate by coordinate, so that compilers for CPUs can test many at once.
% if periodic and image != "plain":
    // The shift is that of the image looked into; a candidate away from home counts its own image off. That is rare, and
    // reads what it needs when it needs it, as every work-item would keep it in registers otherwise.
% for k, component in enumerate(components):
% if k and image == "along":
    const int frnn_s${k} = 0;
    const real frnn_d${k} = frnn_p${k} - frnn_q${component};
% else:
    int frnn_s${k} = frnn_base${k};
    real frnn_d${k} = (frnn_p${k} - frnn_q${component}) + frnn_carry${k};
% endif
% endfor
% if not foreign and images != "wraps_once":
    int frnn_out = frnn_out_here;
% endif
% if image == "any":
    if (!frnn_home) {
% for k, component in enumerate(components):
        frnn_s${k} -= frnn_image(frnn_p${k}, frnn_images[${3 * dim + k}], frnn_images[${2 * dim + k}]);
        frnn_d${k} = (frnn_p${k} - frnn_q${component}) + (real)frnn_s${k} * frnn_images[${k}];
% endfor
% if not foreign:
        frnn_out = ${periodic_box.left_out("frnn_s")};
% endif
    }
% endif
% else:
% for k, component in enumerate(components):
    const real frnn_d${k} = frnn_p${k} - frnn_q${component};
% endfor
% endif
</%def>

<%def name="shift(image)" filter="trim">
% if periodic and image != "plain":
(frnn_shift)(${", ".join([f"frnn_s{k}" for k in range(dim)] + ["0"] * (vector_length - dim))})
% else:
(frnn_shift)(0)
% endif
</%def>

<%def name="squared()" filter="trim">
## Summed from the left, ((x*x + y*y) + z*z) + ..., as the contract pins it.
${" + ".join(f"frnn_d{k} * frnn_d{k}" for k in range(dim))}
</%def>

<%def name="beyond()" filter="trim">
## How much the squared distance exceeds that of the radius, in fewer operations, which are rounded otherwise.
${"".join(f"fma(frnn_d{k}, frnn_d{k}, " for k in reversed(range(dim)))}-reach2${")" * dim}
</%def>

<%def name="difference()" filter="trim">
(real_vec)(${", ".join([f"frnn_d{k}" for k in range(dim)] + ["0"] * (vector_length - dim))})
</%def>

<%def name="root()">
// The correctly rounded square root of x >= 0.
// Config fields used: square_root.
% if square_root == "native":
#define frnn_sqrt(x) sqrt(x)
% elif square_root == "double":
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define frnn_sqrt(x) ((float)sqrt((double)(x)))
% else:
// This device's sqrt may be 3 ulp off and it has no doubles: take its guess and settle the last bits in integers.
// x = X * 2^(2h) with X an integer of 47 or 48 bits; the nearest integer to the root of X has 24 bits.
float frnn_sqrt(float x)
{
    if (!(x > 0.0f)) return x;
    const int small = x < 0x1p-100f;
    const uint bits = as_uint(small ? x * 0x1p48f : x);
    const int exponent = (int)(bits >> 23) - 150;
    const int left = 23 + ((exponent - 23) & 1);
    const ulong X = (ulong)((bits & 0x7fffff) | 0x800000) << left;
    ulong root = (ulong)sqrt((float)X);
    while (root * root > X) --root;
    while ((root + 1) * (root + 1) <= X) ++root;
    if (X - root * root > root) ++root;
    const float scale = as_float((uint)((exponent - left) / 2 + 127) << 23);
    return (float)root * scale * (small ? 0x1p-24f : 1.0f);
}
% endif
</%def>
