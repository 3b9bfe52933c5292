"""Planning: facts about points and device become frozen configs. Pure; needs neither OpenCL nor Mako."""
