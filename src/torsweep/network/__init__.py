"""Private Tor networks sampled from measured populations.

In: a configuration, a seed, and tables. Out: a network directory that every variant of an experiment runs on.
"""
