## Defines the key of a position: the number along a Hilbert curve of the small cube in which the position lies. The
## curve has no jumps, so that points with neighboring keys lie together and leaves are compact.
## In scope for key_of: i; images, with periodic axes; bulk, see find_bulk of /primitives/reduce.cl.mako.
## Config fields used: dim, real, periodic, curve_bits.
<%namespace name="geometry" file="/common/geometry.mako"/>
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
// A position on an axis, in sides of the bulk of the points. Beyond the bulk it grows with the logarithm, so that strays,
// however far, leave the bulk most of the curve. It never decreases, and stays finite.
real frnn_along_axis(const real x)
{
    if (x >= 0 && x <= 1) return x;
    const real most = ${"DBL_MAX" if real == "double" else "FLT_MAX"};
    return x > 1 ? 1 + log2(fmin(x, most)) : -log2(fmin(1 - x, most));
}

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
        const uint flip = (~none | (c0 ^ c${k})) & ${f"{(1 << bit) - 1:#x}"};
        c0 ^= flip;
        c${k} ^= flip & none;
% endif
    }
% endfor
% endfor
% for k in range(1, dim):
    c${k} ^= c${k - 1};
% endfor
    uint flipped = c${dim - 1} >> 1;
% for reach in (1, 2, 4, 8, 16):
    flipped ^= flipped >> ${reach};
% endfor
% for k in range(dim):
    c${k} ^= flipped;
% endfor
    // The bits of all coordinates are interleaved, as many bits at a time as fit a word.
% if dim == 1:
    return c0;
% else:
    return (ulong)(${interleaved(f"c{{k}} >> {levels_of(dim)}")}) << ${levels_of(dim) * dim} | (${interleaved("c{k}")});
% endif
}
</%def>

<%def name="key_of(positions, inverse_row, part='0')">
## part: whether the key is not that of the small cube, but of the place within it, in cubes as many times smaller.
<%
    # In a cell the curve goes through heights.
    by_table = periodic and not batched  # all systems lie in the box of their heights
%>\
    const real_vec p = ${geometry.load(positions, "i")};
    ${lattice.choose_table("", "i")}
    ${refit.into_box("p", str(inverse_row), by_heights=skewed)}
    // The widest side of the bulk of the points. All lengths are halved, because the side of a box may overflow.
    real widest = 0;
% for k in range(dim):
% if by_table:
    const int repeats${k} = frnn_length${k} > 0;
    const real low${k} = repeats${k} ? frnn_start${k} : ${lattice.lowest(k, "images") if skewed else f"bulk[{k}]"};
    widest = fmax(widest, repeats${k} ? frnn_length${k} / 2 : ${lattice.highest(k, "images") if skewed else f"bulk[{dim + k}]"} / 2 - low${k} / 2);
% else:
    const real low${k} = bulk[${k}];
    widest = fmax(widest, bulk[${dim + k}] / 2 - low${k} / 2);
% endif
% endfor
    // The integer coordinates of the cube, of which there are ${1 << curve_bits} on a side.
    const real tail = bulk[${2 * dim}], times = ${1 << curve_bits} / (1 + 2 * tail);
% for k in range(dim):
    const real in_cubes${k} = fmin(fmax((frnn_along_axis((x${k} / 2 - low${k} / 2) / widest) + tail) * times, (real)0), (real)${(1 << curve_bits) - 1});
    const uint c${k} = ${part} ? (uint)((in_cubes${k} - floor(in_cubes${k})) * ${1 << curve_bits}) : (uint)in_cubes${k};
% endfor
    const ulong key = frnn_along_curve(${", ".join(f"c{k}" for k in range(dim))});
</%def>
