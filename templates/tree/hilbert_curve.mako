<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="boxes" file="/tree/node_boxes.mako"/>
<%namespace name="refit" file="/tree/refit.mako"/>
## Where a position lies on a Hilbert curve through cubes. A curve without jumps: what follows each other on it lies together,
## so that leaves are compact.
## Config fields used: dim, periodic.
<%!
def levels_of(dim):
    """Bits of each coordinate that a word has room for."""
    return 32 // dim

def apart_by(dim, run):
    """The bits of a word that are taken when runs of so many bits of a coordinate stand where the first of them belongs."""
    return sum(1 << (bit // run * run * dim + bit % run) for bit in range(levels_of(dim)))
%>\
<%def name="interleaved(bits)" filter="trim">
${" | ".join(f"frnn_apart({bits.format(k=k)}) << {dim - 1 - k}" for k in range(dim))}
</%def>

<%def name="numbers()">
% if dim > 1:
// The lowest ${levels_of(dim)} bits, ${dim} apart.
uint frnn_apart(uint bits)
{
    bits &= ${f"{(1 << levels_of(dim)) - 1:#x}"};
% for run in (1 << s for s in reversed(range((levels_of(dim) - 1).bit_length()))):
    bits = (bits | bits << ${run * (dim - 1)}) & ${f"{apart_by(dim, run):#x}"};
% endfor
    return bits;
}
% endif

// The number of a cube along the curve.
ulong frnn_along_curve(${", ".join(f"uint c{k}" for k in range(dim))})
{
    // Bit by bit from the highest: each half turns the curve in it (Skilling 2004). Written out without branches, as items in
    // step would take both sides of most.
% for bit in reversed(range(1, curve_bits)):
% for k in range(dim):
    {
        const uint none = (c${k} >> ${bit} & 1) - 1;  // all ones where that bit is not
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
    // One coordinate's bits, ${dim} apart, between those of the others; as many at a time as a word has room for.
% if dim == 1:
    return c0;
% else:
    return (ulong)(${interleaved(f"c{{k}} >> {levels_of(dim)}")}) << ${levels_of(dim) * dim} | (${interleaved("c{k}")});
% endif
}
</%def>

<%def name="key_of(positions, of, nodes=None)">
<%
    # The corners of the cube: of the root of a tree, or of a box in a slot.
    low = "root_low{0}" if nodes else "boxes[place + {0}]"
    high = "root_high{0}" if nodes else f"boxes[place + {dim} + {{0}}]"
%>\
% if nodes:
    ${boxes.load(nodes, "1", "root_")}
% endif
    const real_vec p = ${geometry.load(positions, "i")};
    ${refit.at_home("p", str(of))}
    // The cube of ${1 << curve_bits} on a side that it lies in; by halves, as the box may be wider than any number.
    real widest = 0;
% for k in range(dim):
% if periodic:
    const int turning${k} = frnn_length${k} > 0;
    const real low${k} = turning${k} ? frnn_start${k} : ${low.format(k)};
    widest = fmax(widest, turning${k} ? frnn_length${k} / 2 : ${high.format(k)} / 2 - low${k} / 2);
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
