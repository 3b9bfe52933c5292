## Defines the key of a position: the number along a Hilbert curve of the small cube in which the position lies. The
## curve has no jumps, so that points with neighboring keys lie together and leaves are compact.
## In scope for key_of: i; images, with periodic axes; boxes and box_start, or the nodes of a tree.
## Config fields used: dim, periodic, curve_bits.
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="node_boxes" file="/methods/tree/node_boxes.mako"/>
<%namespace name="refit" file="/methods/tree/refit.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>
<%!
def levels_of(dim):
    """Bits of each coordinate that fit one word beside those of the others."""
    return 32 // dim

def apart_by(dim, run):
    """The mask of a coordinate's bits when runs of `run` bits each stand where the first bit of the run belongs."""
    return sum(1 << (bit // run * run * dim + bit % run) for bit in range(levels_of(dim)))
%>\
<%def name="interleaved(bits)" filter="trim">
${" | ".join(f"frnn_apart({bits.format(k=k)}) << {dim - 1 - k}" for k in range(dim))}
</%def>

<%def name="functions()">
% if dim > 1:
// Spreads the lowest ${levels_of(dim)} bits to every ${dim}th bit.
uint frnn_apart(uint bits)
{
    bits &= ${f"{(1 << levels_of(dim)) - 1:#x}"};
% for run in (1 << s for s in reversed(range((levels_of(dim) - 1).bit_length()))):
    bits = (bits | bits << ${run * (dim - 1)}) & ${f"{apart_by(dim, run):#x}"};
% endfor
    return bits;
}
% endif

// The number along the curve of the cube with these integer coordinates.
ulong frnn_along_curve(${", ".join(f"uint c{k}" for k in range(dim))})
{
    // Each bit, from the highest on, turns the curve in the half that it selects (Skilling 2004). The loop is written
    // out without branches, because work-items in lockstep would take both sides of most branches.
% for bit in reversed(range(1, curve_bits)):
% for k in range(dim):
    {
        const uint none = (c${k} >> ${bit} & 1) - 1;  // all ones where the bit is 0
% if k == 0:
        c0 ^= ~none & ${f"{(1 << bit) - 1:#x}"};
% else:
        const uint turn = (~none | (c0 ^ c${k})) & ${f"{(1 << bit) - 1:#x}"};
        c0 ^= turn;
        c${k} ^= turn & none;
% endif
    }
% endfor
% endfor
% for k in range(1, dim):
    c${k} ^= c${k - 1};
% endfor
    uint turned = c${dim - 1} >> 1;
% for reach in (1, 2, 4, 8, 16):
    turned ^= turned >> ${reach};
% endfor
% for k in range(dim):
    c${k} ^= turned;
% endfor
    // The bits of all coordinates are interleaved, as many bits at a time as fit a word.
% if dim == 1:
    return c0;
% else:
    return (ulong)(${interleaved(f"c{{k}} >> {levels_of(dim)}")}) << ${levels_of(dim) * dim} | (${interleaved("c{k}")});
% endif
}
</%def>

<%def name="key_of(positions, inverse_row, nodes=None)">
<%
    # The corners of the box that the curve fills: of the root of a tree, or of a box in memory. In a cell the curve goes
    # through heights.
    low = "root_low{0}" if nodes else "boxes[box_start + {0}]"
    high = "root_high{0}" if nodes else f"boxes[box_start + {dim} + {{0}}]"
    in_cell = skewed
    by_table = periodic and not batched  # all systems lie in the box of their heights
%>\
% if nodes and not (in_cell and by_table):
    ${node_boxes.load(nodes, "1", "root_")}
% endif
    const real_vec p = ${geometry.load(positions, "i")};
    ${lattice.choose_table("", "i")}
    ${refit.into_box("p", str(inverse_row), by_heights=in_cell)}
    // The integer coordinates of the cube, of which there are ${1 << curve_bits} on a side. All lengths are halved,
    // because the side of the box may overflow.
    real widest = 0;
% for k in range(dim):
% if by_table:
    const int turning${k} = frnn_length${k} > 0;
    const real low${k} = turning${k} ? frnn_start${k} : ${lattice.lowest(k, "images") if in_cell else low.format(k)};
    widest = fmax(widest, turning${k} ? frnn_length${k} / 2 : ${lattice.highest(k, "images") if in_cell else high.format(k)} / 2 - low${k} / 2);
% else:
    const real low${k} = ${low.format(k)};
    widest = fmax(widest, ${high.format(k)} / 2 - low${k} / 2);
% endif
% endfor
% for k in range(dim):
    uint c${k} = (uint)fmin(fmax((x${k} / 2 - low${k} / 2) / widest * ${1 << curve_bits}, (real)0), (real)${(1 << curve_bits) - 1});
% endfor
    const ulong key = frnn_along_curve(${", ".join(f"c{k}" for k in range(dim))});
</%def>
