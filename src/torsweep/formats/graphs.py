"""Graphs in GML, as Shadow, tornettools and networkx write them.

In: a file, plain or packed, and the names of the attributes that are wanted. Out: :class:`Gml`, its nodes and
its edges as frames of text. The layout of the lines is free; lists inside a node or an edge are passed over.

networkx reads the same, more than ten times as slowly where every host has an edge to every other
(docs/decisions/0014-graphs-without-networkx.md); tests compare the two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from torsweep.errors import InputError
from torsweep.formats.text import text_chunks

CHUNK_CHARACTERS = 1 << 24
_MOST_BETWEEN = 1 << 20
"""Characters that may stand outside of nodes and edges in a row: graphs have a few lines there."""

_ELEMENT = re.compile(
    r"""(?<![\w"])(node|edge)\s*+\[     # what it is
    ((?:[^][\"]++                       # keys and numbers,
      |"[^"\n]{0,10000}+"               # strings,
      |\[[^][]{0,10000}+\]){0,200}+)    # and lists, one deep
    \]""",
    re.VERBOSE,
)
_DIRECTED = re.compile(r"\bdirected\s+(\S+)")


@dataclass(frozen=True)
class Gml:
    """A graph: whether its edges have a direction, and the attributes asked for, null where there is none."""

    directed: bool
    nodes: pl.DataFrame
    edges: pl.DataFrame


def read_gml(file: Path, of_nodes: Sequence[str], of_edges: Sequence[str]) -> Gml:
    """The graph in ``file`` with the attributes ``of_nodes`` and ``of_edges``, as text without quotes.

    Raises InputError for a file without a node, one that is cut off, and text that is no node and no edge.
    """
    names = {"node": of_nodes, "edge": of_edges}
    blocks: dict[str, list[pl.DataFrame]] = {"node": [], "edge": []}
    head, rest = "", ""
    for chunk in text_chunks(file, CHUNK_CHARACTERS):
        begun = any(map(len, blocks["node"]))
        before, bodies, rest = _blocks(rest + chunk, begun, file)
        head = head if begun else before
        for kind, texts in bodies.items():
            blocks[kind].append(_attributes(texts, names[kind]))
    if not any(map(len, blocks["node"])):
        raise InputError("holds no node", file=file, accepted="a graph in GML")
    if rest.count("]") != rest.count("[") + 1:
        raise InputError("is cut off", file=file, value=rest.strip()[-40:], accepted="a graph closed by ]")
    directed = _DIRECTED.search(head)
    if directed and directed[1] not in ("0", "1"):
        raise InputError("is no direction", file=file, key="directed", value=directed[1], accepted="0 or 1")
    return Gml(bool(directed and directed[1] == "1"), pl.concat(blocks["node"]), pl.concat(blocks["edge"]))


def _blocks(text: str, begun: bool, file: Path) -> tuple[str, dict[str, list[str]], str]:
    """What stands before the first node or edge in ``text``, what is in each, and what follows the last.

    After the first one, ``begun``, nothing may stand between them.
    """
    bodies: dict[str, list[str]] = {"node": [], "edge": []}
    before, end = "", 0
    for match in _ELEMENT.finditer(text):
        between = text[end : match.start()]
        if not (begun or end):
            before = between
        elif between.strip():
            raise _no_gml(between, file)
        end = match.end()
        bodies[match[1]].append(match[2])
    rest = text[end:]
    if len(rest) > (_MOST_BETWEEN if end else CHUNK_CHARACTERS):
        raise _no_gml(rest, file)
    return before, bodies, rest


def _no_gml(text: str, file: Path) -> InputError:
    accepted = "one node [ … ] or edge [ … ] after the other"
    return InputError("is no GML", file=file, value=text.strip()[:40], accepted=accepted)


def _attributes(bodies: Sequence[str], names: Sequence[str]) -> pl.DataFrame:
    """A column of text an attribute; words inside the strings of others do not count."""
    others = r'^(?:\s*\w+\s+(?:"[^"]*"|[^\s"\[\]]+|\[[^\[\]]*\]))*?'
    return pl.DataFrame({"body": bodies}, schema={"body": pl.String}).select(
        pl.col("body")
        .str.extract(rf'{others}\s*\b{name}\s+("[^"]*"|[^\s"\[\]]+)')
        .str.strip_chars('"')
        .alias(name)
        for name in names
    )
