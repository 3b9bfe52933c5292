"""clfrnn and its peers on the same clouds, in one run; ``python -m asv_benches.peers --help``, from a checkout."""
