"""What each client was asked to do: the steps of TGen's action graphs.

In: the GraphML files that :mod:`torsweep.engines.shadow.traffic` writes, a vertex or an edge a line.
Out: :class:`Steps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from torsweep.engines.shadow.read.line_fields import TEXT, numbers, words
from torsweep.engines.shadow.read.logs import Log, parse_logs

_VERTEX = {"vertex": r'^<node id="([^"]*)">', "server": r'<data key="peers">([^:<]*):\d+</data>'}
_VERTEX_NUMBERS = {
    "pause_us": r'<data key="time">(\d+) microseconds</data>',
    "bytes_wanted": r'<data key="recvsize">(\d+) bytes</data>',
}
_EDGE = {"source": r'^<edge source="([^"]*)" ', "target": r' target="([^"]*)"/>'}


@dataclass(frozen=True)
class Steps:
    """The steps of all clients; column ``log`` is the index of the client.

    ``first`` (log, vertex): the downloads that a client begins with. ``following`` (log, vertex, pause_us,
    next): what comes after the download at ``vertex``, and how long after. ``downloads`` (log, vertex,
    server, bytes_wanted): what each download asks for.
    """

    first: pl.DataFrame
    following: pl.DataFrame
    downloads: pl.DataFrame


def read_graphs(graphs: Sequence[Log]) -> Steps:
    """The steps in ``graphs``, one a client; InputError when one has no download to begin with."""
    found = parse_logs(graphs, _parse)
    vertices, edges = found.vertices, found.edges
    pauses = vertices.select("log", "vertex", "pause_us").drop_nulls()
    first = edges.filter(pl.col("source") == "start").select("log", vertex="target")
    empty = sorted(set(range(len(graphs))) - set(first["log"]))
    if empty:
        raise graphs[empty[0]].error("is no graph of a client: nothing follows its start")
    paused = edges.join(
        pauses.rename({"vertex": "target"}), on=["log", "target"], how="left", maintain_order="left"
    )
    after_pause = edges.select("log", target="source", after="target")
    following = (
        paused.join(pauses.select("log", source="vertex"), on=["log", "source"], how="anti")
        .filter(pl.col("source") != "start")
        .join(after_pause, on=["log", "target"], how="left", maintain_order="left")
        .select(
            "log",
            vertex="source",
            pause_us=pl.col("pause_us").fill_null(0),
            next=pl.when(pl.col("pause_us").is_null()).then("target").otherwise("after"),
        )
    )
    wanted = vertices.filter(pl.col("vertex") == "start").select("log", "bytes_wanted")
    downloads = vertices.filter(pl.col("server").is_not_null()).select("log", "vertex", "server")
    return Steps(first, following, downloads.join(wanted, on="log", how="left", maintain_order="left"))


@dataclass(frozen=True)
class _Found:
    vertices: pl.DataFrame
    edges: pl.DataFrame


def _parse(lines: pl.DataFrame) -> _Found:
    vertices = lines.filter(TEXT.str.starts_with("<node "))
    edges = lines.filter(TEXT.str.starts_with("<edge "))
    return _Found(
        vertices.select("log", *words(_VERTEX), *numbers(_VERTEX_NUMBERS)),
        edges.select("log", *words(_EDGE)),
    )
