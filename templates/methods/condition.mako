## Defines the condition of a search: the user's expression as a function of a pair, its values as parameters of the kernel, and
## its calls. The expression stands in a function, so that it sees neither the walk nor the pieces of another function.
## In scope for a call: i, r2, and what the arguments of the call name.
## Config fields used: dim, vector_length, periodic, batched, inline.
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>
<%def name="functions(function)">
% if function.condition:
#line 1 "where_preamble"
${function.condition.preamble}

//@ RESUME
#pragma OPENCL FP_CONTRACT OFF
// Whether the condition holds for query i and neighbor j.
int frnn_where(const int i, const int j, const real d2, const real_vec dx, const frnn_shift shift, const real r2${declared(function, "")})
{
    // Any number that is not zero is true. The language has no ?: for floating point.
    return (
#line 1 "where_expression"
${function.condition.expression}

//@ RESUME
    ) != 0;
}
% for name in function.condition.macros:
#undef ${name}
% endfor
% endif
</%def>

<%def name="declared(function, prefix)" filter="trim">
## What a user's function writes to may be an array that the condition reads.
% for each in function.condition.arguments:
, ${f"global const {each.ctype} *{'restrict ' if function.own else ''}" if each.buffer else f"const {each.ctype} "}${prefix}${each.name}\
% endfor
</%def>

<%def name="parameters(function)">
% if function.condition:
    ${declared(function, "frnn_where_")}
% endif
</%def>

<%def name="holds(function, d2='d2', dx='dx', shift='shift', j='j')" filter="trim">
frnn_where(${function.number}, ${j}, ${d2}, ${dx}, ${shift}, r2${"".join(f", frnn_where_{each.name}" for each in function.condition.arguments)})
</%def>

<%def name="opens(function)">
## Together with closes: what stands between them runs only where the condition holds. In a kernel of a user, which passes the
## system of a query, that is where the neighbor is of the same system.
% if function.condition:
if (${holds(function)}) {
% elif inline and batched:
if (${lattice.of_point("frnn_", "j")} == frnn_system) {
% endif
</%def>
<%def name="closes(function)">${"}" if function.condition or inline and batched else ""}</%def>

<%def name="and_holds(function, image, j='j')" filter="trim">
## Behind the tests of a candidate whose differences are known; nothing without a condition.
% if function.condition:
&& ${holds(function, capture(geometry.squared_distance), capture(geometry.difference), capture(geometry.shift, image), j)}
% endif
</%def>

<%def name="of_query(function)" filter="trim">
## Where the condition reads nothing of the neighbor: whether it holds for all neighbors of the query.
% if function.condition:
&& ${holds_for_all(function)}
% endif
</%def>

<%def name="holds_for_all(function)" filter="trim">${holds(function, "0", "(real_vec)(0)", "(frnn_shift)(0)", "i")}</%def>

<%def name="of_pair(function)"><% return bool(function.condition and function.condition.of_pair) %></%def>

<%def name="gathers(function)"><% return bool(function.condition and function.condition.gathers) %></%def>
<%def name="reads(function, *names)"><% return bool(function.condition and function.condition.reads(*names)) %></%def>
