"""Tunings of single devices: the numbers that may be changed for one, the files that hold them, and which one is used.

A tuning of a device is the default of its class with a few other numbers. ``clfrnn tune`` measures them and stores them
in the user's folder of settings; JSON files in the folder ``shipped`` hold what was measured for everybody.
"""

from .in_force import InForce, find_tuning

__all__ = ["InForce", "find_tuning"]
