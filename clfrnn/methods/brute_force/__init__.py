"""All pairs, tiled through local memory."""
