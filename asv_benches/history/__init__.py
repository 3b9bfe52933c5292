"""What benchmarks gave from commit to commit: runs of asv, counts of instructions, and a page of both."""
