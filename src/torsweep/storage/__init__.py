"""What torsweep may write (:mod:`folders`), and what appears whole or not at all (:mod:`whole`)."""

from torsweep.storage.whole import whole_directory, whole_file, write_text

__all__ = ["whole_directory", "whole_file", "write_text"]
