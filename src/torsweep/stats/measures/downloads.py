"""Measures of downloads by kind of client: goodput, errors, fairness between clients.

Goodput counts payload. A download whose share came in the same microsecond as its end has no goodput.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import polars as pl

from torsweep.config.traffic import MARKOV, MEASURED_KINDS
from torsweep.formats.files import KIB, MIB
from torsweep.stats.measures import (
    SHARE,
    Measure,
    by_run,
    in_group,
    seconds_measured,
    whole_and_parts,
)
from torsweep.stats.statistic import Analysis

LAST_MINUTE_US = 60_000_000
_COLUMNS = (
    "client",
    "kind",
    "entry_us",
    "socks_reply_us",
    "first_byte_us",
    "half_us",
    "most_us",
    "last_byte_us",
    "observed_us",
    "bytes_wanted",
    "bytes_got",
    "outcome",
    "error",
)


def downloads(analysis: Analysis) -> pl.DataFrame:
    """Every download, by kind, with its goodputs in KiB/s: ``whole``, ``last_half``, ``last_fifth``."""
    frame = replace(analysis.tables, kinds=MEASURED_KINDS).streams(_COLUMNS)
    # Objects of a page that were done in the warm-up are no downloads of the measured time.
    frame = frame.filter((pl.col("observed_us") > pl.col("entry_us")) | (pl.col("entry_us") == 0))
    spans = {"whole": ("first_byte_us", 1.0), "last_half": ("half_us", 0.5), "last_fifth": ("most_us", 0.2)}
    goodputs = {name: goodput(since, share) for name, (since, share) in spans.items()}
    return in_group(frame.with_columns(**goodputs), pl.col("kind"))


def goodput(since: str, share: float) -> pl.Expr:
    """KiB/s of the last ``share`` of the payload, which began at the time ``since``."""
    elapsed_s = (pl.col("last_byte_us") - pl.col(since)) / 1e6
    complete = (pl.col("outcome") == "complete") & (elapsed_s > 0)
    return pl.when(complete).then(pl.col("bytes_wanted") * share / KIB / elapsed_s)


def clients(analysis: Analysis) -> pl.DataFrame:
    """``goodput`` of each client, by kind: what it received over the sum of its downloads' times."""
    known = analysis.once(downloads).filter(pl.col("bytes_got").is_not_null())
    each = known.group_by([*by_run(analysis), "group", "client"])
    frame = each.agg(pl.col("bytes_got").sum(), pl.col("observed_us").sum()).sort("client")
    return frame.filter(pl.col("observed_us") > 0).with_columns(
        goodput=pl.col("bytes_got") / pl.col("observed_us")
    )


def progress_of_clients(analysis: Analysis) -> pl.DataFrame:
    """Every client, by kind: whether it got no byte in the last minute (``stalled``), and none in the whole
    measured time (``starved``); null where the engine does not say. A client that had no download under way
    in that time was done, and got nothing because it wanted nothing; one that began none in the whole run
    counts."""
    provenance = analysis.provenance
    end_us, warm_up_us = provenance.duration_ns // 1000, provenance.warm_up_ns // 1000

    def nothing_since(time_us: int) -> pl.Expr:
        waiting = pl.col("last_us").is_null() | (pl.col("last_us") > time_us)
        without = waiting & ~(pl.col("latest_byte_us") >= time_us).fill_null(False)
        return pl.when("latest_known").then(without)

    frame = replace(analysis.tables, kinds=MEASURED_KINDS).clients()
    spans = {"stalled": max(end_us - LAST_MINUTE_US, warm_up_us), "starved": warm_up_us}
    return in_group(
        frame.with_columns(**{name: nothing_since(since) for name, since in spans.items()}), pl.col("kind")
    )


def errors(analysis: Analysis) -> pl.DataFrame:
    """Downloads that ended in an error, ``stage`` and ``reason`` of it, and ``of``, how many the run has. A
    download fails before its stream is open (``circuit``) or after it (``stream``), or its time is over
    (``timeout``)."""
    frame = analysis.once(downloads).with_columns(of=pl.len().over(by_run(analysis)))
    opened = pl.col("socks_reply_us").is_not_null()
    late = pl.col("outcome") == "timeout"
    stage = (
        pl.when(late).then(pl.lit("timeout")).when(opened).then(pl.lit("stream")).otherwise(pl.lit("circuit"))
    )
    reason = pl.coalesce("error", pl.when(late).then(pl.lit("time limit")), pl.lit("no reason"))
    return frame.filter(FAILED).with_columns(stage=stage, reason=reason)


def errors_by_stage(analysis: Analysis) -> pl.DataFrame:
    """:func:`errors` by stage."""
    return in_group(analysis.once(errors), pl.col("stage"))


def errors_by_reason(analysis: Analysis) -> pl.DataFrame:
    """:func:`errors` by stage and reason."""
    return in_group(analysis.once(errors), pl.format("{}: {}", "stage", "reason"))


def received(analysis: Analysis) -> pl.DataFrame:
    """The rate that clients received, ``mib_per_s``, for each second: of all clients and by kind. A kind that
    received nothing has a row with 0, but in runs that say nothing of any: Arti under Shadow."""
    frame = replace(analysis.tables, kinds=(*MEASURED_KINDS, MARKOV)).received(["kind", "bytes_got"])
    pairs = frame.select(by_run(analysis)).unique().join(frame.select("kind").unique(), how="cross")
    frame = pl.concat([frame, pairs.with_columns(bytes_got=0)], how="diagonal_relaxed")
    rate = pl.col("bytes_got") / MIB / seconds_measured(analysis)
    return whole_and_parts(frame.with_columns(mib_per_s=rate), "kind")


def _share_of_clients(column: str) -> pl.Expr:
    """Null where one client's number is not known."""
    return pl.when(pl.col(column).is_not_null().all()).then(pl.col(column).mean())


FAILED = pl.col("outcome").is_in(["failed", "timeout"])
_JAIN = pl.col("goodput").sum().pow(2) / (pl.len() * pl.col("goodput").pow(2).sum())
_GOODPUT, _ERRORS, _FAIRNESS, PROGRESS_TOPIC = "Goodput", "Errors", "Fairness", "Clients without progress"
_goodput = partial(Measure, topic=_GOODPUT, unit="KiB/s", rows=downloads)
_no_progress = partial(Measure, topic=PROGRESS_TOPIC, unit=SHARE, rows=progress_of_clients, drawn=False)
_errors_by = partial(
    Measure,
    topic=_ERRORS,
    label="share of downloads",
    unit=SHARE,
    number=pl.len() / pl.col("of").first(),
    absent=0.0,
    drawn=False,
)
_fairness = partial(Measure, topic=_FAIRNESS, unit="1", rows=clients)
DOWNLOAD_MEASURES = (
    _goodput(
        "goodput_median",
        label="of a download, median",
        meaning="payload over the time from the first byte to the last: median over complete downloads",
        number=pl.col("whole").median(),
    ),
    _goodput(
        "goodput_last_half_median",
        label="of its last half, median",
        meaning=(
            "payload over time, from half of the payload to the last byte: median over complete downloads"
        ),
        number=pl.col("last_half").median(),
        drawn=False,
    ),
    _goodput(
        "goodput_last_fifth_median",
        label="of its last fifth, median",
        meaning=(
            "payload over time, from four fifths of the payload to the last byte: median over complete"
            " downloads"
        ),
        number=pl.col("last_fifth").median(),
    ),
    Measure(
        "goodput_total",
        _GOODPUT,
        "of all clients together",
        "MiB/s",
        "payload that clients received in the measured time, complete downloads or not",
        received,
        pl.col("mib_per_s").sum(),
    ),
    _no_progress(
        "clients_stalled",
        label="no byte in the last minute",
        meaning=(
            "clients that got no payload in the last minute of the run, although they had a download under"
            " way or never began one, of all"
        ),
        number=_share_of_clients("stalled"),
    ),
    _no_progress(
        "clients_without_progress",
        label="no byte in the measured time",
        meaning=(
            "clients that got no payload in the whole measured time, although they had a download under way"
            " or never began one, of all"
        ),
        number=_share_of_clients("starved"),
    ),
    Measure(
        "download_errors",
        _ERRORS,
        "share of downloads",
        SHARE,
        "downloads that failed or whose time limit passed, of all; unfinished ones have no error",
        downloads,
        FAILED.mean(),
    ),
    _errors_by(
        "download_errors_by_stage",
        meaning=(
            "errors of all kinds together, by stage: before the stream was open (circuit), after it (stream),"
            " or by the time limit (timeout)"
        ),
        rows=errors_by_stage,
    ),
    _errors_by(
        "download_errors_by_reason",
        meaning="share with an error, by stage and reason, in the engine's words",
        rows=errors_by_reason,
    ),
    _fairness(
        "jain_index",
        label="Jain's index",
        meaning=(
            "of the clients' goodputs, what each received over the sum of its downloads' times: 1 when all"
            " are alike, 1/n when one of n has everything"
        ),
        number=_JAIN,
        most=1.0,
    ),
    _fairness(
        "decile_ratio",
        label="ninth over first decile",
        meaning="of the clients' goodputs: how many times as fast a fast client is as a slow one",
        number=pl.col("goodput").quantile(0.9, "linear") / pl.col("goodput").quantile(0.1, "linear"),
    ),
)
