"""Readers of files with points: one module for each kind of file, and what they have in common in ``contents``."""
