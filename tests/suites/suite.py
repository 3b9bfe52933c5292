"""Tests of other libraries, run with a face in the place of the library."""

import importlib
import importlib.util

import pytest


def imported_with(name, **faces):
    """A test module of an installed library, loaded once more with names of other modules replaced.

    ``imported_with("scipy.spatial.tests.test_kdtree", **{"scipy.spatial.KDTree": KDTree})``; skips where the library
    has no tests.
    """
    spec = importlib.util.find_spec(name)
    if spec is None:
        pytest.skip(f"the installed library has no {name}", allow_module_level=True)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        for path, face in faces.items():
            owner, attribute = path.rsplit(".", 1)
            patch.setattr(importlib.import_module(owner), attribute, face)
        spec.loader.exec_module(module)
    return module


def taken_from(module, skipped):
    """The tests of a module by name; those in ``skipped`` have the reason there.

    A key names a test function, a class, or ``Class.test``.
    """
    found = {name: value for name, value in vars(module).items() if name.startswith(("test", "Test"))}
    for key, reason in skipped.items():
        owner, _, test = key.partition(".")
        mark = pytest.mark.skip(reason=reason)
        if test:
            setattr(found[owner], test, mark(_own(getattr(found[owner], test))))
        else:
            found[owner] = mark(found[owner])
    return found


def _own(function):
    """A copy of a method, which a class inherits, so that a mark is that of the class alone."""

    def test(self):
        return function(self)

    return test
