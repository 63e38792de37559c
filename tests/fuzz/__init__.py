"""Damaged documents, and what no command may do with any of them (:mod:`tests.fuzz.documents` makes them)."""
