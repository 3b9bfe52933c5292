## The sections of coarse cells as they are kept: of each cell where the points end that cells of other layers see, where
## the rest of its border ends, and where the cell ends, which is where the next one begins.
<%def name="start(sections, cell)" filter="trim">
((${cell}) ? ${sections}[3 * (${cell}) - 1] : 0)
</%def>

<%def name="end(sections, cell)" filter="trim">
${sections}[3 * (${cell}) + 2]
</%def>
