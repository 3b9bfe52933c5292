<%namespace name="geometry" file="/common/geometry.mako"/>
## Batches: as many candidates, at places that follow each other, as a CPU tests in one vector. Points lie in columns. What is
## loaded behind the last candidate of a run, at most a batch less one, is not looked at.
## Nothing of this calls a built-in function for loads, stores or bits: PoCL 3.0 compiles each of them as a call, which takes as
## long as a batch.
## Config fields used: dim, real, components, width, foreign, half, periodic, images. In scope are frnn_n and frnn_sorted.
<%def name="types(chosen)">
// So many numbers wherever they begin.
typedef ${real}${width} __attribute__((aligned(${4 if real == "float" else 8}))) frnn_reals;
typedef int${width} __attribute__((aligned(4))) frnn_ints;
% if chosen:
// For each choice of some of ${width} candidates, a byte for the place of each in their order.
constant const ${word()} frnn_chosen[${1 << width}] = {
% for choice in range(1 << width):
${hex(sum(k << 8 * m for m, k in enumerate(k for k in range(width) if choice >> k & 1)))},${"" if loop.index % 8 < 7 else "\n"}\
% endfor
};
% endif
</%def>

<%def name="word()" filter="trim">
## A byte for each candidate.
${"ulong" if width == 8 else "uint"}
</%def>

<%def name="integers()" filter="trim">
## As wide as the coordinates, so that nothing is converted.
${"long" if real == "double" else "int"}${width}
</%def>

<%def name="test(image, first, stop, counts_itself, by_place)">
## counts_itself, by_place: see visit.cl.mako.
    // Which of the candidates are neighbors, -1 for each.
% if image == "any":
    ${own_images(first)}
% endif
% for k, component in enumerate(components):
    const ${real}${width} frnn_d${k} = ${moved(k, component, image, first)};
% endfor
    const ${integers()} frnn_near = (${geometry.squared()} <= reach2)\
 & (${places(first)} < ${stop})${kept(image, first, counts_itself, by_place)};
</%def>

<%def name="moved(k, component, image, first)" filter="trim">
## As geometry.differences has it.
% if image == "any":
(${column(k, first)} - frnn_q${component}) + ${f"frnn_s{k}" if real == "double" else f"convert_{real}{width}(frnn_s{k})"} * frnn_images[${k}]
% elif periodic and image != "plain" and not (k and image == "along"):
(${column(k, first)} - frnn_q${component}) + frnn_carry${k}
% else:
${column(k, first)} - frnn_q${component}
% endif
</%def>

<%def name="own_images(first)">
    // The shifts of candidates that may each lie in an image of their own, as frnn_image finds these.
% for k in range(dim):
    ${real}${width} frnn_at${k} =
        (${column(k, first)} - frnn_images[${3 * dim + k}]) * frnn_images[${2 * dim + k}];
    frnn_at${k} = frnn_at${k} > (${real})268435456 ? (${real}${width})268435456 : frnn_at${k};
    frnn_at${k} = frnn_at${k} < (${real})-268435456 ? (${real}${width})-268435456 : frnn_at${k};
% if real == "double":
    // Without integers of eight bytes, which few processors convert: of so large a sum nothing is left behind the point.
    const double${width} frnn_whole${k} = (frnn_at${k} + 0x1.8p52) - 0x1.8p52;
    const double${width} frnn_s${k} = frnn_base${k} - (frnn_whole${k} - (frnn_whole${k} > frnn_at${k} ? (double${width})1 : (double${width})0));
% else:
    const ${integers()} frnn_whole${k} = convert_${integers()}(frnn_at${k});
    const ${integers()} frnn_s${k} = frnn_base${k} - (frnn_whole${k} + (frnn_at${k} < convert_${real}${width}(frnn_whole${k})));
% endif
% endfor
% if half and not foreign:
    // As periodic.left_out has it.
<% turn = "0" %>\
% for k in reversed(range(dim)):
<% turn = f"(frnn_s{k} != 0 ? frnn_s{k} : {turn})" if k < dim - 1 else f"frnn_s{k}" %>\
% endfor
    const ${f"double{width}" if real == "double" else capture(integers)} frnn_turn = ${turn};
    const ${integers()} frnn_least_here =
        i + (frnn_turn > 0 ? (${integers()})0 : frnn_turn < 0 ? (${integers()})1 : (${integers()})(1 - frnn_keep_self));
% endif
</%def>

<%def name="kept(image, first, counts_itself, by_place)" filter="trim">
## As visit.kept has it.
% if foreign or counts_itself:
% elif image == "any" and half:
& (${ids(first)} >= frnn_least_here)
% elif image == "any":
& ((${ids(first)} != frnn_self) | ${" | ".join(f"(frnn_s{k} != 0)" for k in range(dim))})
% elif periodic and image != "plain" and images != "wraps_once":
& (${ids(first)} ${">=" if half else "!="} frnn_out_here)
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

<%def name="put_places(first, array, found, guard='1')">
    // Their places, beside each other from array + found on; found goes up by their number. A product brings the lowest bits
    // of bytes beside each other in its highest byte, another adds them up there.
<% gather, add = {8: ("0x0102040810204080", "0x0101010101010101"), 4: ("0x01020408", "0x01010101")}[width] %>\
    const ${word()} frnn_each = as_${word()}(convert_uchar${width}(frnn_near) & (uchar${width})1);
    const int frnn_choice = (int)(frnn_each * (${word()})${gather} >> ${8 * width - 8}) & ${(1 << width) - 1};
    if (${guard})
        *(${array[0]} frnn_ints *)(${array[1]} + ${found}) = convert_int${width}(as_uchar${width}(frnn_chosen[frnn_choice])) + ${first};
    ${found} += (int)(frnn_each * (${word()})${add} >> ${8 * width - 8});
</%def>
