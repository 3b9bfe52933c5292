"""The k nearest neighbors of every query, within a radius or however far they are."""
