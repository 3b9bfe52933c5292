"""Unions of points that a search links, and the numbering of their roots."""
