## Defines the boxes of the nodes of a tree and their distance from a query.
## Nodes are stored in breadth-first order: node 1 is the root, and the children of node k are 2 k and 2 k + 1. Element 0
## is not a node and says whether all points are finite. Leaves behind the last point are not stored; a walk reads the
## last stored node in place of them, and they hold no points.
## In two to four dimensions a box is one or two vectors, otherwise its low corner and then its high corner.
## In scope for bound and apart: frnn_q, reach2 and what begin_query of /methods/visit.mako declares.
## In scope for touches_packet: what /methods/tree/packets.mako declares.
## Config fields used: dim, components, periodic, work_group_size, ranks, radii.
<%namespace name="lattice" file="/domain/lattice.mako"/>
<%def name="array(name)" filter="trim">
global ${"frnn_record" if 2 <= dim <= 4 else "real"} *restrict ${name}
</%def>

<%def name="constant_array(name)" filter="trim">
global const ${"frnn_record" if 2 <= dim <= 4 else "real"} *restrict ${name}
</%def>

## In local memory a box of three dimensions takes a vector and a half, because loads from there take as long as they
## have bytes.
<%def name="local_array(name, many)" filter="trim">
% if dim == 3:
local frnn_record ${name}[${many}];
    local frnn_pair ${name}_high[${many}]
% else:
local ${f"frnn_record {name}[{dim // 2} * {many}]" if dim in (2, 4) else f"real {name}[{2 * dim} * {many}]"}
% endif
</%def>

<%def name="load_local(array, node, name)">
% if dim == 3:
    const frnn_record ${name}first = ${array}[${node}];
    const frnn_pair ${name}second = ${array}_high[${node}];
% for k in range(3):
    const real ${name}low${k} = ${name}first.s${k}, ${name}high${k} = ${f"{name}second.s{k - 1}" if k else f"{name}first.s3"};
% endfor
% else:
    ${load(array, node, name)}
% endif
</%def>

<%def name="store_local(array, node, name)">
% if dim == 3:
    ${array}[${node}] = (frnn_record)(${name}low0, ${name}low1, ${name}low2, ${name}high0);
    ${array}_high[${node}] = (frnn_pair)(${name}high1, ${name}high2);
% else:
    ${store(array, node, name)}
% endif
</%def>

<%def name="load(array, node, name)">
## Declares the corners of a node's box as NAMElow0, NAMEhigh0, NAMElow1, ...
% if dim == 2:
    const frnn_record ${name}box = ${array}[${node}];
% elif dim in (3, 4):
    const frnn_record ${name}first = ${array}[2 * (size_t)(${node})], ${name}second = ${array}[2 * (size_t)(${node}) + 1];
% endif
% for k in range(dim):
% if dim == 2:
    const real ${name}low${k} = ${name}box.s${k}, ${name}high${k} = ${name}box.s${k + 2};
% elif dim in (3, 4):
    const real ${name}low${k} = ${name}first.s${k}, ${name}high${k} = ${name}second.s${k};
% else:
    const real ${name}low${k} = ${array}[(size_t)(${node}) * ${2 * dim} + ${k}];
    const real ${name}high${k} = ${array}[(size_t)(${node}) * ${2 * dim} + ${dim + k}];
% endif
% endfor
</%def>

<%def name="store(array, node, name)">
% if dim == 2:
    ${array}[${node}] = (frnn_record)(${name}low0, ${name}low1, ${name}high0, ${name}high1);
% elif dim in (3, 4):
    ${array}[2 * (size_t)(${node})] = (frnn_record)(${", ".join([f"{name}low{k}" for k in range(dim)] + ["0"] * (4 - dim))});
    ${array}[2 * (size_t)(${node}) + 1] = (frnn_record)(${", ".join([f"{name}high{k}" for k in range(dim)] + ["0"] * (4 - dim))});
% else:
% for k in range(dim):
    ${array}[(size_t)(${node}) * ${2 * dim} + ${k}] = ${name}low${k};
    ${array}[(size_t)(${node}) * ${2 * dim} + ${dim + k}] = ${name}high${k};
% endfor
% endif
</%def>

<%def name="all_finite(array)" filter="trim">
${array}[0]${".s0" if 2 <= dim <= 4 else ""}
</%def>

<%def name="functions()">
// How far x lies outside an interval, with either sign: the difference of coordinates to a point at the edge of the interval.
real frnn_outside(const real low, const real high, const real x) { return x - fmin(fmax(x, low), high); }
real frnn_between(const real low, const real high, const real other_low, const real other_high)
{
    return fmax(fmax(low - other_high, other_low - high), (real)0);
}
real frnn_smaller(const real a, const real b) { return fmin(a, b); }

// The node that follows a subtree in depth-first order; for the last subtree, the root.
int frnn_behind_subtree(const int node) { return (node + 1) >> (31 - (int)clz((node + 1) & -(node + 1))); }
</%def>

<%def name="bound()" filter="trim">
## The largest squared distance from a query to a box that holds a neighbor. It is no more than the squared distance to the
## neighbor, because both are computed by the same operations in the same order; with periodic axes rounding may add a little.
% if periodic:
(frnn_smaller(reach2, frnn_reach * frnn_reach) * (1 + 16 * FRNN_EPSILON))
% else:
frnn_smaller(reach2, frnn_reach * frnn_reach)
% endif
</%def>

<%def name="apart(array, node, name, local=False)">
## Declares NAMEapart, the squared distance from the query to a node's box. With periodic axes, the query is seen from
## the image, and the box is extended by the pads, so that rounding never makes the distance too large.
    ${load_local(array, node, name) if local else load(array, node, name)}
% for k, component in enumerate(components):
% if skewed:
    const real ${name}d${k} = frnn_outside(${name}low${k} - frnn_pad, ${name}high${k} + frnn_pad, frnn_q${component} - frnn_displacement${k}${f" + {lattice.moved(k, 'frnn_images')}" if batched else ""});
% elif periodic:
    const real ${name}d${k} =
        frnn_outside(${name}low${k} - (frnn_reach${k} - frnn_reach), ${name}high${k} + (frnn_reach${k} - frnn_reach), frnn_seen${k});
% else:
    const real ${name}d${k} = frnn_outside(${name}low${k}, ${name}high${k}, frnn_q${component});
% endif
% endfor
    const real ${name}apart = ${" + ".join(f"{name}d{k} * {name}d{k}" for k in range(dim))};
</%def>

<%def name="touches_packet(node)">
    // frnn_hit: whether the box around the packet, as seen from the image, touches the box of the node. There is no node 0.
    ${load("frnn_boxes", f"frnn_max(1, frnn_min({node}, frnn_last_node))", "frnn_node_")}
% if skewed:
    ${lattice.caller_shift("frnn_node_shift", "frnn_t", "frnn_images")}
% endif
% for k in range(dim):
% if periodic:
    const real frnn_image_offset${k} = ${lattice.translation(k, "frnn_node_shift", "frnn_images") if skewed else f"(real)frnn_t{k} * frnn_length{k}"};
    const real frnn_gap${k} = frnn_between(
        frnn_node_low${k} - frnn_packet_pad${k}, frnn_node_high${k} + frnn_packet_pad${k}, frnn_packet_low${k} - frnn_image_offset${k}, frnn_packet_high${k} - frnn_image_offset${k});
% else:
    const real frnn_gap${k} = frnn_between(frnn_node_low${k}, frnn_node_high${k}, frnn_packet_low${k}, frnn_packet_high${k});
% endif
% endfor
    int frnn_hit = ${node} > 0 & ${" + ".join(f"frnn_gap{k} * frnn_gap{k}" for k in range(dim))} <= frnn_farthest;
% if not (ranks and radii):
    if (frnn_wide & frnn_hit) {
        frnn_hit = 0;
        for (int frnn_k = 0; frnn_k < ${work_group_size}; ++frnn_k) {
% for k in range(dim):
            const real frnn_position${k} = frnn_shared[${k * (work_group_size + 1)} + frnn_k]${f" - frnn_image_offset{k}" if periodic else ""};
<% pad = f"frnn_packet_pad{k}" if periodic else "0" %>\
            const real frnn_off${k} = frnn_outside(frnn_node_low${k} - ${pad}, frnn_node_high${k} + ${pad}, frnn_position${k});
% endfor
            frnn_hit |= ${" + ".join(f"frnn_off{k} * frnn_off{k}" for k in range(dim))} <= frnn_farthest;
        }
    }
% endif
</%def>
