"""The method ``fenns``: a coarse grid in memory, fine cells in local memory."""
