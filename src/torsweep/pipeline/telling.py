"""What a pipeline prints for its user after Snakemake's plan: only warnings.

In: Snakemake's logger. Out: the same, with a stream that lets warnings through. How far the runs are is said
by :mod:`torsweep.pipeline.watch`, and what failed by :mod:`torsweep.pipeline.failed_step`; everything stands
in Snakemake's own log file.
"""

from __future__ import annotations

import logging


def hush(logger: logging.Logger) -> None:
    """Let through only warnings to the terminal; files that ``logger`` writes keep everything."""
    for handler in logger.handlers:
        if isinstance(handler, logging.StreamHandler) and not isinstance(handler, logging.FileHandler):
            handler.addFilter(_is_warning)


def _is_warning(record: logging.LogRecord) -> bool:
    return record.levelno == logging.WARNING
