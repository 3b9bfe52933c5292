## Defines the start and the end of a coarse cell in `sections`, (cells, 3): for each cell the end of the points that other
## layers see, the end of the rest of its border, and the end of the cell, where the next cell begins. Nothing must be in scope.
<%def name="start(sections, cell)" filter="trim">
((${cell}) ? ${sections}[3 * (${cell}) - 1] : 0)
</%def>

<%def name="end(sections, cell)" filter="trim">
${sections}[3 * (${cell}) + 2]
</%def>
