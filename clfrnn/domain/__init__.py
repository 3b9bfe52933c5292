"""Domains: the cells of a grid, periodic boxes, and periodic cells of any lattice vectors."""
