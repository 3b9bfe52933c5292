"""Chemical elements: their symbols as they are usually spelled, whatever the letters of a file."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["spelled"]

#: The symbols of the elements by their numbers, and those of heavy hydrogen.
_SYMBOLS = """
H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb Mo Tc Ru
Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At
Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og D T
"""
_SPELLED = {symbol.upper(): symbol for symbol in _SYMBOLS.split()}


def spelled(species: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Words of a column of elements, (n,) str: ``SI`` and ``si`` as ``Si``; words that are no symbol as they stand."""
    words, which = np.unique(species, return_inverse=True)
    usual = np.array([_SPELLED.get(word.upper(), word) for word in words.tolist()], dtype=species.dtype)
    return usual[which.reshape(species.shape)]
