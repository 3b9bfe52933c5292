"""``clfrnn devices``: what stands between a program and its OpenCL devices, and what to do about it.

Drivers are touched by ``probe`` alone, in processes of its own: a broken one ends such a process and nothing else.
"""
