"""Downloads followed through real tors and the links between them, from the records of both.

:mod:`.cells` finds cells by number and by byte offset; :mod:`.passing` finds packets by the bytes in them,
and puts the pieces of a way together; :mod:`.join` does so for every followed download.
"""
