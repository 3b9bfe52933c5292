"""Every other answer of an index: counts, nearest neighbors, explanations, kernel sources."""
