"""Mutated documents, and what no command may do with any of them.

:mod:`tests.fuzz.documents` makes valid documents with the program itself, :mod:`tests.fuzz.mutations` damages
them, :mod:`tests.fuzz.properties` says what has to hold.
"""
