"""Writing: what torsweep may write (:mod:`folders`), and files and folders that appear whole
(:mod:`whole`)."""

from torsweep.storage.whole import whole_directory, whole_file, write_text

__all__ = ["whole_directory", "whole_file", "write_text"]
