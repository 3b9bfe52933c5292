"""Folders of lists that are damaged, or that were made to do harm: the file is named, and no code of it is run."""

import numpy as np
import pytest

import clfrnn
from clfrnn import parts


class Harmful:
    def __reduce__(self):
        return print, ("run",)


def without(name):
    return lambda arrays: {key: each for key, each in arrays.items() if key != name}


def other(name, change):
    return lambda arrays: {**arrays, name: change(arrays[name])}


def pickled(arrays):
    return {**arrays, "indices": np.array([Harmful()], object)}


DAMAGES = {
    "no queries": without("query_ids"),
    "no indices": without("indices"),
    "a pickle": pickled,
    "short offsets": other("offsets", lambda offsets: offsets[:-1]),
    "falling offsets": other("offsets", lambda offsets: offsets[::-1]),
    "short indices": other("indices", lambda indices: indices[:-1]),
    "an index too large": other("indices", lambda indices: indices + 1),
    "an index below 0": other("indices", lambda indices: indices - 1),
    "indices of two axes": other("indices", lambda indices: indices[:, None]),
    "indices that are no integers": other("indices", lambda indices: indices.astype(float)),
    "queries of two axes": other("query_ids", lambda ids: ids[:, None]),
    "distances of two axes": other("distances", lambda distances: distances[:, None]),
    "vectors of one axis": other("vectors", lambda vectors: vectors[:, 0]),
    "shifts of other points": other("shifts", lambda shifts: shifts[:, :1]),
    "a dtype that is none": other("dtype", lambda _: np.array("float31")),
}


@pytest.fixture
def folder(tmp_path):
    """The list of three points, of which the first and the last have no neighbor in common."""
    listed = {
        "offsets": np.int32([0, 1, 3, 4]),
        "indices": np.int32([1, 0, 2, 1]),
        "distances": np.float32([1, 1, 1, 1]),
    }
    listed |= {"vectors": np.float32([[0, 1], [0, -1], [0, 1], [0, -1]]), "shifts": np.zeros((4, 2), np.int32)}
    whole = parts.PartList(listed, query_ids=np.int32([0, 1, 2]), num_points=3, dtype=np.float32)
    parts.write_lists([whole], tmp_path / "lists")
    return tmp_path / "lists"


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_list_is_refused(folder, damage, capsys):
    path = folder / "part-000000.npz"
    with np.load(path) as arrays:
        np.savez(path, **damage({name: arrays[name] for name in arrays.files}))
    with pytest.raises(clfrnn.InvalidInputError, match="expected a list as write_lists") as caught:
        list(parts.read_lists(folder))
    assert str(path) in str(caught.value)
    assert "search again" in str(caught.value)
    assert not capsys.readouterr().out


@pytest.mark.parametrize("size", [None, 0, 100])
def test_a_file_that_is_missing_or_cut_off(folder, size):
    path = folder / "part-000000.npz"
    raw = path.read_bytes()
    path.unlink()
    if size is not None:
        path.write_bytes(raw[:size])
    with pytest.raises(clfrnn.InvalidInputError) as caught:
        list(parts.read_lists(folder))
    assert str(path) in str(caught.value)


def test_a_whole_list_is_read_and_a_missing_array_is_named(folder):
    (found,) = parts.read_lists(folder)
    assert found.vectors.tolist() == [[0, 1], [0, -1], [0, 1], [0, -1]]
    path = folder / "part-000000.npz"
    np.savez(path, num_points=3, images=False, query_ids=found.query_ids, offsets=found.offsets)
    with pytest.raises(clfrnn.InvalidInputError, match="got one without dtype, indices; search again"):
        list(parts.read_lists(folder))
