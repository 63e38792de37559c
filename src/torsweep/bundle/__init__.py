"""A result that leaves this machine: gathered in a folder, packed as one file.

In: what the pipeline made of a plan. Out: the published folder with its checksums and citation; the same as a
zip.
"""
