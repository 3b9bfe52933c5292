"""Tuning: written and read, checked when it is made, explained number by number, and what plans depend on."""

import ast
import dataclasses
import importlib
import inspect
import json
import math
import pkgutil

import pytest
from conftest import RECORDED, tuned

import clfrnn
from clfrnn import clouds
from clfrnn import tuning as package
from clfrnn.errors import InvalidInputError
from clfrnn.tuning import Prices, Tuning, default_tuning
from clfrnn.tuning.section import Section

KINDS = ("cpu", "gpu", "other")
MODULES = [
    importlib.import_module(f"{package.__name__}.{each.name}") for each in pkgutil.iter_modules(package.__path__)
]


def numbers(section, where=()):
    """The place of each number, and its field."""
    for field in dataclasses.fields(section):
        if field.metadata:
            yield (*where, field.name), field
        else:
            yield from numbers(getattr(section, field.name), (*where, field.name))


@pytest.mark.parametrize("kind", KINDS)
def test_it_survives_json(kind):
    tuning = Tuning.default(kind)
    text = json.dumps(tuning.to_dict(), allow_nan=False)
    again = Tuning.from_dict(json.loads(text))
    assert again == tuning
    assert hash(again) == hash(tuning)
    assert repr(again) == repr(tuning)


def test_defaults_are_those_of_a_class_of_device():
    for profile in RECORDED.values():
        assert default_tuning(profile) == Tuning.default(profile.kind)
        assert default_tuning(profile) is default_tuning(dataclasses.replace(profile, name="another"))
    assert len({Tuning.default(kind) for kind in KINDS}) == len(KINDS)


def test_other_numbers_leave_the_rest_alone():
    before = Tuning.default("gpu")
    after = before.but(grid={"long_run": 0}, lists={"buffer_slots": 4})
    assert (after.grid.long_run, after.lists.buffer_slots) == (0, 4)
    assert after != before == Tuning.default("gpu")
    assert after.but(grid={"long_run": before.grid.long_run}, lists={"buffer_slots": 20}) == before
    with pytest.raises(TypeError):
        before.but(grid={"short_run": 0})
    with pytest.raises(dataclasses.FrozenInstanceError):
        before.grid.long_run = 0
    with pytest.raises(TypeError):
        type(before.grid)(*dataclasses.astuple(before.grid))


@pytest.mark.parametrize(
    ("section", "given", "expected"),
    [
        ("walks", {"mask_stage": 48}, "a power of two"),
        ("walks", {"group": 64.0}, "int"),
        ("walks", {"group": True}, "int"),
        ("lists", {"buffer_slots": -1}, "of at least 0"),
        ("lists", {"first_pass_share": 1.5}, "from 0 to 1"),
        ("lists", {"mask_neighbors": math.nan}, "float"),
        ("lists", {"mask_neighbors": "6"}, "float"),
        ("fenns", {"tile_points_of_item": ()}, "tuple"),
        ("queries", {"bytes_3d": ((1,),)}, "tuple"),
        ("grid", {"prices_2d": None}, "a Prices"),
    ],
)
def test_a_number_that_cannot_be_used_raises(section, given, expected):
    ((name, value),) = given.items()
    with pytest.raises(InvalidInputError) as caught:
        Tuning.default("gpu").but(**{section: given})
    assert f"Tuning.{name}: expected" in str(caught.value)
    assert expected in str(caught.value)
    assert repr(value) in str(caught.value)


def test_what_is_read_has_every_name_and_no_other():
    for change in (
        lambda data: data["grid"].pop("long_run"),
        lambda data: data["grid"].update(short_run=1),
        lambda data: data["grid"]["prices_3d"].popitem(),
        lambda data: data.pop("tree"),
        lambda data: data.update(tree=None),
        lambda data: data["walks"].update(group=[64]),
    ):
        data = Tuning.default("cpu").to_dict()
        change(data)
        with pytest.raises(InvalidInputError):
            Tuning.from_dict(data)


def test_every_number_is_explained():
    """By a comment above it, and each number has a default of its own type for each class."""
    for module in MODULES:
        source = inspect.getsource(module)
        lines = source.splitlines()
        for node in ast.parse(source).body:
            if not isinstance(node, ast.ClassDef) or node.name == "Tuning":
                continue
            for field in node.body:
                if isinstance(field, ast.AnnAssign):
                    above = lines[field.lineno - 2].strip()
                    assert above.startswith("#: "), f"{module.__name__}: {node.name}.{field.target.id} is not explained"
    for kind in KINDS:
        for place, field in numbers(Tuning.default(kind)):
            assert set(field.metadata["defaults"]) == set(KINDS), place


def test_sections_stand_in_modules_of_their_own():
    """Every section is part of Tuning, once."""
    made = {type(getattr(Tuning.default("cpu"), field.name)) for field in dataclasses.fields(Tuning)} | {Prices}
    defined = {
        each
        for module in MODULES
        for each in vars(module).values()
        if inspect.isclass(each) and issubclass(each, Section) and each is not Section
    }
    assert made == defined


def test_a_session_of_other_numbers_shares_the_device(session):
    other = tuned(session, grid={"long_run": math.inf})
    assert other.queue == session.queue
    assert other.programs is session.programs
    assert other.tuning.grid.long_run == math.inf != session.tuning.grid.long_run
    points = clouds.uniform(200, 3, seed=1)
    counts = [clfrnn.build_index(points, 0.2, session=each).count().get() for each in (session, other)]
    assert (counts[0] == counts[1]).all()


def test_plans_are_found_once_for_each_tuning(session):
    """Of a session, with its numbers."""
    seen = []

    def plan(profile, tuning, *, factor):
        seen.append(tuning)
        return tuning.walks.group * factor

    other = tuned(session, walks={"group": 2 * session.tuning.walks.group})
    for _ in range(3):
        assert session.once(plan_of, plan, 3) == 3 * session.tuning.walks.group
        assert other.once(plan_of, plan, 3) == 6 * session.tuning.walks.group
    assert seen == [session.tuning, other.tuning]


def plan_of(session, plan, factor):
    return plan(session.profile, session.tuning, factor=factor)
