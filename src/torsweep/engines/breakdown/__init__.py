"""Downloads followed through real tors and the links between them, from the records of both.

:mod:`.cells` and :mod:`.packets` find cells by number and by byte offset, and packets by the bytes in them;
:mod:`.passing` puts the pieces of a way together; :mod:`.join` does so for every followed download.
"""
