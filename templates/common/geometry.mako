## Defines how a point is loaded, and differences, squared distances and square roots, rounded as numpy rounds them.
## Including this file also includes the types of a program.
## In scope for differences: the query frnn_q and the candidate's coordinates frnn_p0, frnn_p1, ...; with periodic axes
## also what /domain/periodic_images.mako declares.
## Config fields used: dim, components, vector_length, periodic, foreign, images; root uses square_root.
<%include file="/common/types.mako"/>
<%namespace name="periodic_images" file="/domain/periodic_images.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>\
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
## `image` says how candidates are shifted. "plain": not at all. "along": all by one shift on the first axis. "moved": all
## by one shift on every axis. "any": each by a shift of its own.
    // The difference from the query to a candidate. Coordinates are separate variables, so that a compiler for CPUs can
    // test many candidates at once.
% if periodic and image != "plain":
    // The shift is that of the image that the walk is in, less the image that the candidate itself lies in. Candidates that lie
    // outside the box are rare; what they need is loaded only for them, because it would occupy registers otherwise.
% for k, component in enumerate(components):
% if k and image == "along" and not reduced:
    const int frnn_s${k} = 0;
    const real frnn_d${k} = ${f"(frnn_p{k} - frnn_q{component}) + frnn_displacement{k}" if skewed else f"frnn_p{k} - frnn_q{component}"};
% else:
    int frnn_s${k} = frnn_base${k};
    real frnn_d${k} = (frnn_p${k} - frnn_q${component}) + frnn_displacement${k};
% endif
% endfor
% if not foreign and images != "wraps_once":
    int frnn_excluded = frnn_excluded_here;
% endif
% if image == "any":
    if (!frnn_all_in_box) {
% if skewed:
        const real_vec frnn_candidate_height = frnn_heights((real_vec)(${", ".join([f"frnn_p{k}" for k in range(dim)] + ["0"] * (vector_length - dim))}), frnn_images);
% for k in range(dim):
        const int frnn_candidate_image${k} =
            frnn_image(frnn_candidate_height${components[k]}, frnn_images[${3 * dim + k}], frnn_images[${2 * dim + k}]);
% endfor
% for k in range(dim):
        frnn_s${k} -= ${lattice.shift(k, "frnn_candidate_image", "frnn_images") if reduced else f"frnn_candidate_image{k}"};
% endfor
% for k, component in enumerate(components):
        frnn_d${k} = (frnn_p${k} - frnn_q${component}) + (${lattice.translation(k, "frnn_s", "frnn_images")});
% endfor
% else:
% for k, component in enumerate(components):
        frnn_s${k} -= frnn_image(frnn_p${k}, frnn_images[${3 * dim + k}], frnn_images[${2 * dim + k}]);
        frnn_d${k} = (frnn_p${k} - frnn_q${component}) + (real)frnn_s${k} * frnn_images[${k}];
% endfor
% endif
% if not foreign:
        frnn_excluded = ${periodic_images.excluded_id("frnn_s")};
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

<%def name="squared_distance(difference='frnn_d')" filter="trim">
## The terms are added from the left, ((x*x + y*y) + z*z) + ..., as the contract says.
${" + ".join(f"{difference}{k} * {difference}{k}" for k in range(dim))}
</%def>

<%def name="excess()" filter="trim">
## The squared distance less the squared radius, by fused operations: these are fewer, and round differently.
${"".join(f"fma(frnn_d{k}, frnn_d{k}, " for k in reversed(range(dim)))}-reach2${")" * dim}
</%def>

<%def name="difference()" filter="trim">
(real_vec)(${", ".join([f"frnn_d{k}" for k in range(dim)] + ["0"] * (vector_length - dim))})
</%def>

<%def name="root()">
// The correctly rounded square root of x >= 0.
% if square_root == "native":
#define frnn_sqrt(x) sqrt(x)
% elif square_root == "double":
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define frnn_sqrt(x) ((float)sqrt((double)(x)))
% else:
// The device's sqrt may be wrong by 3 ulp, and the device has no doubles. Its result is a first guess, whose last bits
// are corrected in integers. x = X * 2^(2h), where X is an integer of 47 or 48 bits; the integer nearest to the root of
// X has 24 bits.
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
