"""Faces are imported when they are asked for, import their library then or later, and say what to install."""

import subprocess
import sys

import pytest

import clfrnn

LIBRARIES = ("scipy", "sklearn", "ase", "torch", "pandas", "networkx")


def printed(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_imports_no_library():
    code = f"""
import sys, clfrnn, clfrnn.interop.scipy, clfrnn.interop.ase
clfrnn.search
print([name for name in {LIBRARIES} if name in sys.modules])
"""
    assert printed(code).strip() == "[]"


@pytest.mark.parametrize(("face", "library"), [("sklearn", "scikit-learn"), ("torch", "PyTorch")])
def test_a_face_says_what_to_install(face, library):
    code = f"""
import sys
sys.modules[{face!r}] = None
try:
    import clfrnn.interop.{face}
except ImportError as error:
    print(error)
"""
    said = printed(code)
    assert f"clfrnn.interop.{face} needs {library}" in said
    assert "pip install" in said


def test_faces_without_their_library():
    """Those of scipy and ASE need it for what is made of it alone."""
    code = """
import sys
sys.modules["scipy"] = sys.modules["ase"] = None
import numpy as np, clfrnn
from clfrnn.interop.ase import primitive_neighbor_list
from clfrnn.interop.scipy import KDTree
points = np.zeros((2, 3), np.float32)
tree = KDTree(points, dtype=np.float32)
print(len(primitive_neighbor_list("i", False, np.eye(3), points, 1.0)), tree.count_neighbors(tree, 1))
for call in (
    lambda: tree.sparse_distance_matrix(tree, 1),
    lambda: primitive_neighbor_list("i", False, np.eye(3), points, {("H", "H"): 1.0}, numbers=[1, 1]),
):
    try:
        call()
    except clfrnn.ClfrnnError as error:
        print(str(error).split(": ")[-1])
"""
    assert printed(code).splitlines() == ["2 4", "pip install scipy", "pip install ase; or pass atomic numbers"]


def test_the_faces_are_found():
    assert clfrnn.interop.scipy.KDTree
    assert dir(clfrnn.interop) == clfrnn.interop.__all__
    with pytest.raises(AttributeError, match="no attribute 'numba'"):
        _ = clfrnn.interop.numba
