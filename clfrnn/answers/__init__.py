"""Queries without a list: counts, nearest neighbors, visits, explanations, kernel sources."""
