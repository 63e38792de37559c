"""Pages of several objects as downloads.

In: a ``streams`` table, in which objects of a page have numbers that tell the page
(:data:`torsweep.engines.draws.PAGE`). Out: the same with one row for each page: its time to first byte is
that of its first object, its time to last byte ends with the object that comes last.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from torsweep.engines.draws import PAGE


def with_pages(streams: pl.DataFrame, run: Sequence[str]) -> pl.DataFrame:
    """``streams`` with pages in place of their objects; the columns ``run`` tell runs apart.

    A page is complete when all of its objects are. One that was under way when the warm-up ended comes under
    observation as its first object would.
    """
    page, by = pl.col("stream") // PAGE, [*run, "client", "_page"]
    objects = streams.filter(page > 0).with_columns(page.alias("_page")).sort("stream", maintain_order=True)
    if objects.is_empty():
        return streams
    first_us, complete = pl.col("start_us").min(), (pl.col("outcome") == "complete").all()
    last_us = pl.when(complete).then((pl.col("start_us") + pl.col("last_byte_us")).max() - first_us)
    # As long as nothing has failed, what is not complete is unfinished.
    worst = [pl.when((pl.col("outcome") == word).any()).then(pl.lit(word)) for word in ("failed", "timeout")]
    outcome = pl.coalesce(*worst, pl.when(complete).then(pl.lit("complete")), pl.lit("unfinished"))
    pages = (
        objects.filter((pl.col("stream") % PAGE == 1).any().over(by))
        .group_by(by, maintain_order=True)
        .agg(
            pl.all().exclude(by).first(),
            _observed_us=(pl.col("start_us") + pl.col("observed_us")).max() - first_us,
            _outcome=outcome,
            _last_us=last_us,
        )
        .with_columns(
            stream="_page",
            observed_us="_observed_us",
            outcome=pl.col("_outcome").cast(streams.schema["outcome"]),
            last_byte_us="_last_us",
            last_byte_after_command_us=pl.col("_last_us") - pl.col("command_us"),
        )
        .select(streams.columns)
    )
    return pl.concat([streams.filter(page == 0), pages])
