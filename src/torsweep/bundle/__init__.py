"""A result that leaves this machine: gathered in a folder, packed as one file, checked by a stranger.

In: what the pipeline made of a plan. Out: the published folder with its checksums and citation; the same as a
zip; and what is wrong with either, if anything.
"""
