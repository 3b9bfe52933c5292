"""The kind of an error, as other libraries raise it: a ValueError, or a TypeError for what are no numbers."""

from __future__ import annotations

from ..errors import ArgumentError, InvalidInputError
from ..host.numbers import real_array

__all__ = ["kind_of_error"]


def kind_of_error(value: object) -> type[InvalidInputError]:
    """The error for a value that a face refuses; for what are no real numbers, it is a TypeError as well."""
    return ArgumentError if real_array(value) is None else InvalidInputError
