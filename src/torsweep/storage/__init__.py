"""Writing: what torsweep may write, files and folders that appear whole, and what a kill left behind.

:mod:`folders` holds the one rule about places that are written, :mod:`whole` writes, :mod:`leftovers` removes
the temporary files of processes that were killed.
"""

from torsweep.storage.whole import whole_directory, whole_file, write_text

__all__ = ["whole_directory", "whole_file", "write_text"]
