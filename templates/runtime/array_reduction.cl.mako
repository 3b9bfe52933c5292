<%include file="/common/contract.mako"/>
// Reduces an array to one value for each work-item, of up to ${items} elements; the host reduces these.
// Launch: groups of ${work_group_size}; group g reduces the elements from g * ${work_group_size * items} on.
// In: values (n,) from first on. Out: partials, one for each work-item that has an element.
// Config fields used: work_group_size, reduction, element, total, items.
// Correct because the first element of a work-item begins its value, and a NaN stays where min and max meet one.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void array_reduction(const long n, global const ${element} *values, const long first, global ${total} *partials)
{
    const long begin = (long)get_group_id(0) * ${work_group_size * items} + (long)get_local_id(0);
    if (begin >= n) return;
    const long end = min(n, begin + ${work_group_size * (items - 1) + 1});
% if reduction in ("any", "all"):
    ${total} found = values[first + begin] != 0;
% else:
    ${total} found = values[first + begin];
% endif
    for (long k = begin + ${work_group_size}; k < end; k += ${work_group_size}) {
        const ${element} x = values[first + k];
% if reduction == "sum":
        found += x;
% elif reduction == "any":
        found |= x != 0;
% elif reduction == "all":
        found &= x != 0;
% else:
        if (x ${"<" if reduction == "min" else ">"} found${" || isnan(x)" if element in ("float", "double") else ""}) found = x;
% endif
    }
    partials[get_group_id(0) * (size_t)${work_group_size} + get_local_id(0)] = found;
}
