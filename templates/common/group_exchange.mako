## Defines how work-groups pass partial results to the group that ends last. A group publishes numbers; the last group collects
## those of all groups.
## In scope: `partials`, a global array of int with a row for each number and a column for each group; `groups`, the number of
## groups; `g`, the group whose column is meant. `partials` is zero before numbers are published and after they are collected.
## All accesses are atomic operations, because the caches of other compute units may hold old values.
## Config fields used: real.
<%def name="publish(number, x)" filter="trim">
% if real == "float":
${publish_int(number, f"as_int({x})")}
% else:
${publish_int(f"2 * {number}", f"as_int2({x}).s0")} | ${publish_int(f"(2 * {number} + 1)", f"as_int2({x}).s1")}
% endif
</%def>

<%def name="publish_int(number, x)" filter="trim">
## The value of this expression is zero. Code that depends on it runs after the number has arrived.
atomic_xchg(&partials[${number} * groups + g], ${x})
</%def>

<%def name="collect(number)" filter="trim">
% if real == "float":
as_float(${collect_int(number)})
% else:
as_double((int2)(${collect_int(2 * number)}, ${collect_int(2 * number + 1)}))
% endif
</%def>

<%def name="collect_int(number)" filter="trim">
atomic_xchg(&partials[${number} * groups + g], 0)
</%def>
