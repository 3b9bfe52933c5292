"""The tuner: measures on a device which numbers of a tuning make searches faster there.

It decides one choice of :mod:`clfrnn.tuning.stored.choices` after the other, over times that are taken alternately, and
believes only what exceeds the spread of these times.
"""
