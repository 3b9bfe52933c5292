<%include file="/common/contract.mako"/>
<%
expressions = {
    "add": "x + y", "sub": "x - y", "mul": "x * y", "truediv": "x / y",
    "and_": "x & y", "or_": "x | y", "xor": "x ^ y", "invert": "complement", "neg": "-x",
    "eq": "x == y", "ne": "x != y", "lt": "x < y", "le": "x <= y", "gt": "x > y", "ge": "x >= y",
}
complement = "!x" if truth else "~x"
expression = complement if operation == "invert" else expressions[operation]
%>\
// Applies an operator of Python to each element of one or two arrays, as numpy does.
// Launch: one work-item per element, groups of ${work_group_size}.
// In: x and y (n,) from x_first and y_first on, or one number in place of an array. Out: found (n,) from found_first on,
// which may be the same memory as x or y.
// Config fields used: work_group_size, operation, element, wide, out, x_array, y_array, truth.
// Correct because all inputs have the dtype in which numpy computes. Integers are computed in ulong, where they wrap as
// in numpy; quotients of floats in double, whose rounding to float is that of the quotient.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void array_operation(const long n,
                     ${"global const " + element + " *xs, const long x_first" if x_array else "const " + element + " one_x"},
                     ${"global const " + element + " *ys, const long y_first" if y_array else "const " + element + " one_y"},
                     global ${out} *found, const long found_first)
{
    const long k = get_global_id(0);
    if (k >= n) return;
    const ${wide} x = (${wide})${"xs[x_first + k]" if x_array else "one_x"};
    const ${wide} y = (${wide})${"ys[y_first + k]" if y_array else "one_y"};
    found[found_first + k] = (${out})(${expression});
}
