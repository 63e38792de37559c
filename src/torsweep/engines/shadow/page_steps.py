"""The names of the steps in TGen's graph of a client that downloads pages, and how they are read back.

In: numbers of pages and objects, from 1. Out: names, which tell TGen what a step does; and from names, in
frames, the numbers of downloads (:data:`torsweep.engines.draws.PAGE`).
"""

from __future__ import annotations

import polars as pl

from torsweep.engines.draws import PAGE


def page_object(page: int, which: int) -> str:
    """The step that downloads object ``which`` of ``page``."""
    return f"stream{page}-{which}"


def page_end(page: int) -> str:
    """The step at which all objects of ``page`` have ended."""
    return f"pause{page}all"


def is_end(step: str) -> pl.Expr:
    """Whether the column ``step`` names the end of a page."""
    return pl.col(step).str.contains(r"^pause\d+all$")


def number_of(step: str, otherwise: str) -> pl.Expr:
    """The number of the download at ``step``; of one that is no object, that of the column ``otherwise``.

    The rows of a client, the column ``log``, are in the order of starts. A client that comes to a step again
    has been at the last page, and its pages count on from there.
    """
    page, which = (pl.col(step).str.extract(r"^stream(\d+)-(\d+)$", group).cast(pl.Int64) for group in (1, 2))
    again = pl.int_range(pl.len()).over("log", step)
    return pl.coalesce((page + again * page.max().over("log")) * PAGE + which, otherwise)
