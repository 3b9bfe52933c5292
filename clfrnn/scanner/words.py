"""Words: which names of OpenCL C, and of the library, code of users must not give another meaning."""

from __future__ import annotations

import re

__all__ = ["is_keyword", "is_of_library", "why_reserved"]

#: The names that the library declares around the code of users.
_IN_SCOPE = frozenset({"i", "j", "d2", "dx", "shift", "r2", "reach2", "real", "real_vec"})

#: Words of the language, and names of its types.
_KEYWORD = re.compile(
    r"""_*(auto|break|case|const|constant|continue|default|do|else|enum|extern|for|global|goto|if|inline|kernel|local
    |private|read_only|read_write|register|restrict|return|signed|sizeof|static|struct|switch|typedef|union|unsigned
    |void|volatile|while|write_only|asm|typeof|bool|size_t|ptrdiff_t|u?intptr_t|event_t|sampler_t|image\w+_t
    |atomic_(u?int|u?long|float|double|size_t|u?intptr_t|ptrdiff_t|flag)
    |(u?(char|short|int|long)|half|float|double)(2|3|4|8|16)?)_*""",
    re.VERBOSE,
)

#: Functions that come with the language, numbers that it names, but those of M_PI and its kin, parts of vectors, and
#: words of attributes.
_BUILT_IN = re.compile(
    r"""a?(cos|sin|tan)(h|pi)? | atan2(pi)? | cbrt | ceil | copysign | erfc? | exp(2|10|m1)? | fabs | fdim | floor | fma
    | f(max|min|mod) | fract | frexp | hypot | ilogb | ldexp | lgamma(_r)? | log(2|10|1p|b)? | mad | (max|min)mag | modf
    | nan | nextafter | pow[nr]? | remainder | remquo | rint | rootn | round | r?sqrt | sincos | tgamma | trunc
    | (half|native)_(cos|divide|exp|exp2|exp10|log|log2|log10|powr|recip|rsqrt|sin|sqrt|tan)
    | abs(_diff)? | (add|sub|mad)_sat | r?hadd | clamp | c[lt]z | m(ad|ul)_hi | max | min | rotate | upsample | popcount
    | m(ad|ul)24 | degrees | mix | radians | (smooth)?step | sign | cross | dot | (fast_)?(distance|length|normalize)
    | is(equal|notequal|(greater|less)(equal)?|lessgreater|finite|inf|nan|normal|ordered|unordered) | signbit
    | any | all | (bit)?select | v(load|store)a?(_half)?(2|3|4|8|16)?(_rt[ezpn])? | (work_group_)?barrier
    | ((read|write)_)?mem_fence | async_\w*copy | wait_group_events | prefetch
    | atom(ic)?_(add|sub|xchg|inc|dec|cmpxchg|min|max|and|x?or|init|load|store|(compare_)?exchange|fetch|flag|work)\w*
    | shuffle2? | vec_step | printf | (read|write)_image(f|i|ui|h) | get_image_\w+ | get_work_dim
    | get_(global|local|enqueued_local|enqueued_num|sub|num|max_sub)\w*_(size|id|offset|groups)
    | get_group_id | get_fence | (work|sub)_group_\w+
    | (as|convert)_(u?(char|short|int|long)|half|float|double|size_t|ptrdiff_t)\w*
    | to_\w+al | enqueue_\w+ | CLK_\w+ | INFINITY | NAN | NULL | MAXFLOAT | HUGE_VALF? | true | false | FP_\w+
    | (FLT|DBL|HALF|S?CHAR|UCHAR|U?SHRT|U?INT|U?LONG)_(\w+_)?(BIT|DIG|EPSILON|EXP|MAX|MIN|RADIX) | cl_\w+
    | s[0-9a-fA-F] | defined | aligned | packed | unroll | vec_type_hint | (reqd_)?work_group_size(_hint)?""",
    re.VERBOSE,
)


#: Names that the drivers' own macros have.
_OF_COMPILER = re.compile("__|_[A-Z]|_cl_")


def is_keyword(name: str) -> bool:
    """Whether the language uses the word itself, so that nothing can have that name."""
    return _KEYWORD.fullmatch(name) is not None


def is_of_library(name: str) -> bool:
    """Whether a name belongs to the library wherever it stands."""
    return name.lower().startswith("frnn_")


def why_reserved(name: str) -> str | None:
    """Why code of users must not define `name` beside the code of the library; None where it may."""
    if is_keyword(name):
        return "a word of OpenCL C"
    if name in _IN_SCOPE or is_of_library(name):
        return "a name of the library's"
    if _BUILT_IN.fullmatch(name):
        return "a name that comes with OpenCL C"
    return "a name of the compiler's" if _OF_COMPILER.match(name) else None
