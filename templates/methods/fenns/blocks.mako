## Defines a block: a coarse cell, the cells around it, and the fine grid over them in local memory.
## In scope: the parameters of /methods/fenns/fenns.cl.mako. The preamble of a program has functions().
## Barriers stand in loops that all work-items of a group run equally often. They never stand behind a condition or an
## early return, which some compilers for CPUs get wrong.
## Config fields used: dim, periodic, real, work_group_size, tile, fine, chunk, team, foreign.
<%namespace name="period_numbers" file="/domain/period_numbers.mako"/>
<%namespace name="neighborhood" file="/methods/fenns/neighborhood.mako"/>
<%namespace name="sections" file="/methods/fenns/sections.mako"/>
<%namespace name="tiles" file="/methods/fenns/tiles.mako"/>
<%def name="functions()">
// A user's function may redefine the names of built-in functions. Code that stands behind its state calls these instead.
void frnn_barrier(void)
{
% if work_group_size > 1:
    barrier(CLK_LOCAL_MEM_FENCE);
% endif
}
int frnn_next(local int *counter) { return atomic_inc(counter); }

// The fine cell of x on one axis of the local grid. It never decreases when x increases. The last cell is given as a real.
int frnn_fine_cell(const real x, const real low, const real inverse, const real last)
{
    return (int)fmin(fmax((x - low) * inverse, (real)0), last);
}

// The largest real below x > 0.
real frnn_below(const real x)
{
    return ${"as_double(as_long(x) - 1)" if real == "double" else "as_float(as_int(x) - 1)"};
}
</%def>

<%def name="declare()">
<% table = 3 ** dim %>\
    // The tile holds the candidates in the order of fine cells. Before that, its memory holds their places in the sorted copy.
    local frnn_record frnn_tile[${tile}];
    local int *frnn_sources = (local int *)frnn_tile;
    // The start of each fine cell in the tile.
    local int frnn_fine[${fine + 1}];
    local int frnn_accepted;
    // A page of the neighboring cells: which of their candidates may be seen, and the places of these; then sums of counts.
    local real frnn_aparts[${table * dim}], frnn_scales[${table * dim}], frnn_bounds[${table * dim}];
    local int frnn_firsts[${table}], frnn_lasts[${table}];
    local int frnn_sums[${work_group_size}], frnn_blocks[${-(-work_group_size // 16)}];
    // The low corner of the local grid.
    local real frnn_corner[${dim}];
% if periodic:
    local int frnn_wraps[${table * dim}], frnn_shifts[${tile * dim}];
% endif
</%def>

<%def name="take_cell()">
    // The cell of this group, and its queries from frnn_begin up to frnn_finish. In a crowded cell these are the first
    // chunks, or one of the others.
    const int frnn_l = get_local_id(0);
    const int frnn_group = frnn_first / ${work_group_size} + (int)get_group_id(0);
    const int frnn_cells = ${" * ".join(f"frnn_shape.s{k}" for k in range(dim))};
    global const int *frnn_served = ${"frnn_query_sections" if foreign else "frnn_sections"};
    int frnn_cell_here = frnn_group, frnn_begin = 0, frnn_finish = 0;
    if (frnn_group < frnn_cells) {
        frnn_begin = ${sections.start("frnn_served", "frnn_group")};
        frnn_finish = frnn_min(${sections.end("frnn_served", "frnn_group")}, ${first_end("frnn_begin")});
    } else {
        frnn_begin = (frnn_group - frnn_cells + 1) * ${chunk};
        int frnn_behind = frnn_cells;
        frnn_cell_here = 0;
        while (frnn_behind - frnn_cell_here > 1) {
            const int frnn_middle = (frnn_cell_here + frnn_behind) / 2;
            if (${sections.end("frnn_served", "frnn_middle - 1")} <= frnn_begin) frnn_cell_here = frnn_middle; else frnn_behind = frnn_middle;
        }
        frnn_finish = frnn_min(${sections.end("frnn_served", "frnn_cell_here")}, frnn_begin + ${chunk});
        const int frnn_opening = ${sections.start("frnn_served", "frnn_cell_here")};
        if (frnn_begin < ${first_end("frnn_opening")}) frnn_finish = frnn_begin;
    }
    const int frnn_rounds = (frnn_finish - frnn_begin + ${work_group_size - 1}) / ${work_group_size};
% if periodic:
    // The number of cells to visit on each side. It is more than one where the reach is longer than the box.
% for k in range(dim):
    const real frnn_sight${k} = ${period_numbers.widest_reach(k, "frnn_widest", "frnn_images")} * frnn_inverse.s${k};
    const int frnn_around${k} = frnn_sight${k} < FRNN_REAL(0.995) ? 1 : (int)frnn_sight${k} + 2;
% endfor
    const int frnn_neighbors = ${" * ".join(f"(2 * frnn_around{k} + 1)" for k in range(dim))};
% if skewed:
    // Whether no point that the block holds is an image: all points lie in the cell, and no cell beyond its faces is visited.
    int frnn_unmoved = frnn_images[${7 * dim}] != 0, frnn_index_rest = frnn_cell_here;
% for k in range(dim):
    {
        const int frnn_c = frnn_index_rest % frnn_shape.s${k};
        frnn_index_rest /= frnn_shape.s${k};
        frnn_unmoved &= !(frnn_lengths.s${k} > 0) | ((frnn_c >= frnn_around${k}) & (frnn_c + frnn_around${k} < frnn_shape.s${k}));
    }
% endfor
% endif
% else:
    const int frnn_neighbors = ${3 ** dim};
% endif
    int frnn_whole = 0;
</%def>

<%def name="first_end(start)" filter="trim">
## The end of the queries that the first group of a cell serves: the first multiple of `chunk` that gives it at least one chunk.
(int)(((uint)(${start}) + ${2 * chunk - 1}u) / ${chunk}u * ${chunk}u)
</%def>

<%def name="load_all()">
    // Loads all candidates at once, if they fit the tile: the points of the own cell, which need no test, and the points of the
    // borders of other cells that its queries may see. Each team of ${team} work-items tests the border of one cell.
    if (frnn_l == 0) frnn_accepted = 0;
    int frnn_start = 0, frnn_own = 0;
    for (int frnn_page = 0; frnn_page * ${3 ** dim} < frnn_neighbors; ++frnn_page) {
        ${neighborhood.make_table("frnn_page")}
        if (!frnn_page) {
            frnn_start = frnn_firsts[0];
            frnn_own = frnn_lasts[0] - frnn_start;
        }
        if (frnn_own <= ${tile}) {
            for (int frnn_n_ = frnn_l / ${team} + !frnn_page; frnn_n_ < ${3 ** dim}; frnn_n_ += ${work_group_size // team}) {
                ${neighborhood.load_neighbor("frnn_n_")}
                const int frnn_last = frnn_lasts[frnn_n_];
                for (int frnn_u = frnn_firsts[frnn_n_] + frnn_l % ${team}; frnn_u < frnn_last; frnn_u += ${team}) {
                    ${neighborhood.accept("frnn_u", "frnn_own + frnn_next(&frnn_accepted)")}
                }
            }
        }
    }
    frnn_barrier();
    const int frnn_held = frnn_own + frnn_accepted;
    frnn_whole = frnn_held <= ${tile};
    frnn_barrier();
    for (int frnn_fits = frnn_whole; frnn_fits; --frnn_fits) {
        ${tiles.sort("frnn_own")}
    }
</%def>

<%def name="load_tile()">
    // Loads the next tile, from where the last tile ended: cell after cell, and one place for each work-item at a time,
    // as long as the candidates of all work-items fit.
    frnn_barrier();
    if (frnn_l == 0) frnn_accepted = 0;
    int frnn_filled = 0;
    while (frnn_cell_number < frnn_neighbors && !frnn_filled) {
        ${neighborhood.make_table(f"frnn_cell_number / {3 ** dim}")}
        while (frnn_cell_number < frnn_neighbors && !frnn_filled) {
            const int frnn_n_ = frnn_cell_number % ${3 ** dim};
            ${neighborhood.load_neighbor("frnn_n_")}
            const int frnn_first_here = frnn_firsts[frnn_n_], frnn_last = frnn_lasts[frnn_n_];
            for (; frnn_first_here + frnn_s < frnn_last && !frnn_filled; frnn_s += ${work_group_size}) {
                const int frnn_u = frnn_first_here + frnn_s + frnn_l;
                if (frnn_u < frnn_last) {
                    ${neighborhood.accept("frnn_u", "frnn_next(&frnn_accepted)")}
                }
                frnn_barrier();
                frnn_filled = frnn_accepted > ${tile - work_group_size};
                frnn_barrier();
            }
            if (frnn_first_here + frnn_s >= frnn_last) {
                ++frnn_cell_number;
                frnn_s = 0;
                if (frnn_cell_number % ${3 ** dim} == 0) break;
            }
        }
    }
    const int frnn_held = frnn_accepted;
    ${tiles.sort("0")}
</%def>
