## Defines the test of a batch: `width` candidates, at places that follow each other, which a CPU tests in one vector.
## In scope: frnn_sorted, in columns, and frnn_n, the number of its points; what begin_query of /methods/visit.mako declares.
## A batch may begin with the last candidate of a run. What it then loads behind the run does not count.
## No built-in function is called for loads, stores or bits: PoCL 3.0 compiles each as a call, which takes as long as a batch.
## Config fields used: dim, real, components, vector_length, width, foreign, half, periodic, images.
<%namespace name="condition" file="/methods/condition.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>
<%def name="gathers(function)">
## Whether the neighbors of batches are offered one by one: a count needs their number alone, or how many are below some squares.
<% return width > 1 and (not (function.light or function.edges) or condition.gathers(function)) %></%def>

<%def name="begin_query(function)">
% if gathers(function):
    // The places of neighbors that wait to be offered: see /methods/candidate_run.mako.
    int frnn_found[${19 * width}], frnn_waiting = 0;
% endif
</%def>

<%def name="hint()" filter="trim">
## Tells that a work-item computes with vectors. A compiler that puts several work-items into one vector (Intel's) leaves
## the kernel alone then: as these work-items diverge, walks took up to four times as long.
% if width > 1:
__attribute__((vec_type_hint(${real}${width})))
% endif
</%def>

<%def name="types(chosen)">
// ${width} numbers at any address that suits one of them.
typedef ${real}${width} __attribute__((aligned(${4 if real == "float" else 8}))) frnn_reals;
typedef int${width} __attribute__((aligned(4))) frnn_ints;
% if chosen:
// For each subset of ${width} candidates: the numbers of its members in ascending order, a byte for each.
constant const ${bytes_type()} frnn_chosen[${1 << width}] = {
% for choice in range(1 << width):
${hex(sum(k << 8 * m for m, k in enumerate(k for k in range(width) if choice >> k & 1)))},${"" if loop.index % 8 < 7 else "\n"}\
% endfor
};
% endif
</%def>

<%def name="bytes_type()" filter="trim">
## An integer that has a byte for each candidate.
${"ulong" if width == 8 else "uint"}
</%def>

<%def name="integers()" filter="trim">
## The result of a vector comparison: integers as wide as the coordinates.
${"long" if real == "double" else "int"}${width}
</%def>

<%def name="test(image, first, stop, counts_itself, by_place, function=None)">
## counts_itself: the query's own point counts as any other; by_place: it is excluded by its place. See /methods/visit.mako.
## function: its condition is tested as well.
    // frnn_near is -1 for each candidate that is a neighbor.
% if image == "any":
    ${own_images(first)}
% endif
% for k, component in enumerate(components):
    const ${real}${width} frnn_d${k} = ${coordinate_difference(k, component, image, first)};
% endfor
% if function is not None and condition.of_pair(function):
    // The condition is evaluated for the candidates within reach alone: others may lie behind the run, and have no number.
    // Those that it rejects are subtracted, because compilers then find nothing to do for a condition that always holds.
    const ${real}${width} frnn_squares = ${geometry.squared_distance()};
    const ${integers()} frnn_within = (frnn_squares <= reach2)\
 & (${places(first)} < ${stop})${included(image, first, counts_itself, by_place)}, frnn_ids = ${ids(first)};
    const ${integers()} frnn_near = frnn_within & ~(${integers()})(
% for lane in [f"s{k:x}" for k in range(width)]:
        -(frnn_within.${lane} && !${condition.holds(function, f"frnn_squares.{lane}", capture(difference, lane), capture(shift, image, lane), f"(int)frnn_ids.{lane}")})${")" if loop.last else ","}
% endfor
        ;
% else:
% if function is not None and function.edges:
    const ${real}${width} frnn_squares = ${geometry.squared_distance()};
% endif
<% square = "frnn_squares" if function is not None and function.edges else capture(geometry.squared_distance) %>\
    const ${integers()} frnn_near = (${square} <= reach2)\
 & (${places(first)} < ${stop})${included(image, first, counts_itself, by_place)}\
${f" & ({capture(integers)})(-{capture(condition.holds_for_all, function)})" if function is not None and function.condition else ""};
% endif
</%def>

<%def name="count_nearer(function)">
## Counts the neighbors below each edge, from the largest edge on. Few candidates are below the smaller ones, which are tested
## some at a time, and only where one candidate of the batch is below the largest of these.
% if function.edges:
    const ${real}${width} frnn_of_near = frnn_near ? frnn_squares : (${real}${width})INFINITY;
<% some, opened = 3, 0 %>\
% for k in reversed(range(function.edges)):
% if k < function.edges - 1 and (function.edges - 1 - k) % some == 0:
<% opened += 1 %>\
    if (as_${bytes_type()}(convert_uchar${width}(frnn_of_near < frnn_edge${k}))) {
% endif
        frnn_nearers${k} -= frnn_of_near < frnn_edge${k};
% endfor
    ${"}" * opened}
% endif
</%def>

<%def name="difference(lane)" filter="trim">
(real_vec)(${", ".join([f"frnn_d{k}.{lane}" for k in range(dim)] + ["0"] * (vector_length - dim))})
</%def>

<%def name="shift(image, lane)" filter="trim">
% if periodic and image != "plain":
(frnn_shift)(${", ".join([f"(int)frnn_s{k}.{lane}" if image == "any" else "0" if k and image == "along" and not reduced else f"frnn_base{k}" for k in range(dim)] + ["0"] * (vector_length - dim))})
% else:
(frnn_shift)(0)
% endif
</%def>

<%def name="coordinate_difference(k, component, image, first)" filter="trim">
## As differences of /common/geometry.mako.
% if image == "any" and skewed:
(${column(k, first)} - frnn_q${component}) + (${lattice.sum_of([f"{capture(shifts, axis)} * {lattice.vector(axis, k, 'frnn_images')}" for axis in range(dim)])})
% elif image == "any":
(${column(k, first)} - frnn_q${component}) + ${shifts(k)} * frnn_images[${k}]
% elif periodic and image != "plain" and not (k and image == "along" and not skewed):
(${column(k, first)} - frnn_q${component}) + frnn_displacement${k}
% else:
${column(k, first)} - frnn_q${component}
% endif
</%def>

<%def name="shifts(k)" filter="trim">
## The shifts of the candidates on axis k, as coordinates.
${f"frnn_s{k}" if real == "double" else f"convert_{real}{width}(frnn_s{k})"}
</%def>

<%def name="own_images(first)">
    // The shift of each candidate, less the image that it lies in, as frnn_image would give that.
% for k in range(dim):
<% own, base = ("frnn_own_image", "") if reduced else ("frnn_s", f"frnn_base{k} - ") %>\
    ${real}${width} frnn_at${k} =
        (${lattice.height(k, [capture(column, c, first) for c in range(dim)], "frnn_images") if skewed else capture(column, k, first)} - frnn_images[${3 * dim + k}]) * frnn_images[${2 * dim + k}];
    frnn_at${k} = frnn_at${k} > (${real})268435456 ? (${real}${width})268435456 : frnn_at${k};
    frnn_at${k} = frnn_at${k} < (${real})-268435456 ? (${real}${width})-268435456 : frnn_at${k};
% if real == "double":
    // Rounded to a whole number in floating point, because few processors convert to integers of eight bytes: a sum as
    // large as this one has no digits behind the point.
    const double${width} frnn_whole${k} = (frnn_at${k} + 0x1.8p52) - 0x1.8p52;
    const double${width} ${own}${k} = ${base}(frnn_whole${k} - (frnn_whole${k} > frnn_at${k} ? (double${width})1 : (double${width})0));
% else:
    const ${integers()} frnn_whole${k} = convert_${integers()}(frnn_at${k});
    const ${integers()} ${own}${k} = ${base}(frnn_whole${k} + (frnn_at${k} < convert_${real}${width}(frnn_whole${k})));
% endif
% endfor
% if reduced:
% for k in range(dim):
<% times = [lattice.combination(axis, k, "frnn_images") for axis in range(dim)] %>\
    const ${"double" + str(width) if real == "double" else capture(integers)} frnn_s${k} =
        frnn_base${k} - (${" + ".join(f"frnn_own_image{axis} * {f'(double)({each})' if real == 'double' else f'({each})'}" for axis, each in enumerate(times))});
% endfor
% endif
% if half and not foreign:
    // As excluded_id of /domain/periodic_images.mako.
<% first_shift = "0" %>\
% for k in reversed(range(dim)):
<% first_shift = f"(frnn_s{k} != 0 ? frnn_s{k} : {first_shift})" if k < dim - 1 else f"frnn_s{k}" %>\
% endfor
    const ${f"double{width}" if real == "double" else capture(integers)} frnn_first_shift = ${first_shift};
    const ${integers()} frnn_least_ids =
        i + (frnn_first_shift > 0 ? (${integers()})0 : frnn_first_shift < 0 ? (${integers()})1 : (${integers()})(1 - frnn_keep_self));
% endif
</%def>

<%def name="included(image, first, counts_itself, by_place)" filter="trim">
## As included of /methods/visit.mako.
% if foreign or counts_itself:
% elif image == "any" and half:
& (${ids(first)} >= frnn_least_ids)
% elif image == "any":
& ((${ids(first)} != frnn_self) | ${" | ".join(f"(frnn_s{k} != 0)" for k in range(dim))})
% elif periodic and image != "plain" and images != "wraps_once":
& (${ids(first)} ${">=" if half else "!="} frnn_excluded_here)
% elif half:
& (${ids(first)} >= frnn_least)
% elif by_place:
& (${places(first)} != frnn_self_place)
% else:
& (${ids(first)} != frnn_self)
% endif
</%def>

<%def name="column(k, first)" filter="trim">
*(global const frnn_reals *)(frnn_sorted + ${k} * (size_t)frnn_n + ${first})
</%def>

<%def name="places(first)" filter="trim">
(${first} + (${integers()})(${", ".join(map(str, range(width)))}))
</%def>

<%def name="ids(first)" filter="trim">
as_${integers()}(${column(dim, first)})
</%def>

<%def name="store_places(first, array, found, guard='1')">
    // The places of the neighbors are stored beside each other from array + found on, and found grows by their number.
    // One product collects the lowest bits of all bytes in its highest byte; another adds them up there.
<% gather, add = {8: ("0x0102040810204080", "0x0101010101010101"), 4: ("0x01020408", "0x01010101")}[width] %>\
    const ${bytes_type()} frnn_each = as_${bytes_type()}(convert_uchar${width}(frnn_near) & (uchar${width})1);
    const int frnn_choice = (int)(frnn_each * (${bytes_type()})${gather} >> ${8 * width - 8}) & ${(1 << width) - 1};
    if (${guard})
        *(${array[0]} frnn_ints *)(${array[1]} + ${found}) = convert_int${width}(as_uchar${width}(frnn_chosen[frnn_choice])) + ${first};
    ${found} += (int)(frnn_each * (${bytes_type()})${add} >> ${8 * width - 8});
</%def>
