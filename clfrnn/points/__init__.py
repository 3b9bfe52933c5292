"""Users' arguments on their way to the device: arrays, periodic boxes, queries, and checks that the device runs."""
