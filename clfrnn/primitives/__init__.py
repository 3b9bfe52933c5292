"""Device primitives of our own: one file, one primitive, each compared with numpy."""
