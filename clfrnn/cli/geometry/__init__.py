"""Commands for the geometry of a cloud, one module each, and what they have in common in ``options`` and ``cloud``."""
