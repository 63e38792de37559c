"""Writing: what torsweep may write (:mod:`folders`), files and folders that appear whole (:mod:`whole`), and
the manifest of what a stage has finished (:mod:`manifest`).
"""

from torsweep.storage.whole import whole_directory, whole_file, write_text

__all__ = ["whole_directory", "whole_file", "write_text"]
