"""Readers of files of atoms: their positions, their cell and what they are called."""
