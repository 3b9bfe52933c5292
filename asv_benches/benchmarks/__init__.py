"""asv benchmarks, a file for each thing that is measured.

``track_`` methods return the median device time of a step in seconds, ``time_`` methods are its wall time. asv starts a
process for each of them and each of its parameters, so there are few. A device that a machine lacks is skipped.
"""
