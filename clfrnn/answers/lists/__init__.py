"""How a NeighborList is made."""
