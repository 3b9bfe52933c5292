"""Benchmarks of clfrnn; run from a checkout, ``python -m asv_benches.quick --help``."""
