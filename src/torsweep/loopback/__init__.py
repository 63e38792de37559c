"""What a choice costs a relay, measured over this machine's own interface: no links, no round trips.

In: a plan of variants, a build of tor. Out: rows of samples, paired comparisons, and both as CSV.
"""
