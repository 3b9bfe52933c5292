## What groups tell each other: `found` real numbers, then one int; all of them zero but between giving and taking. By atomic
## operations, as no cache may answer for others.
<%def name="give(number, x)" filter="trim">
% if real == "float":
${give_int(number, f"as_int({x})")}
% else:
${give_int(f"2 * {number}", f"as_int2({x}).s0")} | ${give_int(f"(2 * {number} + 1)", f"as_int2({x}).s1")}
% endif
</%def>

<%def name="give_int(number, x)" filter="trim">
atomic_xchg(&told[${number} * groups + g], ${x})
</%def>

<%def name="take(number)" filter="trim">
% if real == "float":
as_float(${take_int(number)})
% else:
as_double((int2)(${take_int(2 * number)}, ${take_int(2 * number + 1)}))
% endif
</%def>

<%def name="take_int(number)" filter="trim">
atomic_xchg(&told[${number} * groups + g], 0)
</%def>
