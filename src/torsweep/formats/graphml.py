"""Graphs in GraphML, as text.

In: the attributes that nodes and edges have, and the elements themselves, a line each. Out: the document.

networkx writes such documents from graphs of its own, over twenty times as slowly
(docs/decisions/0014-graphs-without-networkx.md); tests read with it what is written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple


class Attribute(NamedTuple):
    """An attribute of nodes or of edges: GraphML's type of it, such as ``string`` or ``long``."""

    of: Literal["node", "edge"]
    name: str
    type: str = "string"


def node_line(name: str, attributes: Mapping[str, object]) -> str:
    """The element of a node. Nothing is escaped: names and values have no ``<``, ``&`` or quotes."""
    data = "".join(f'<data key="{key}">{value}</data>' for key, value in attributes.items())
    return f'<node id="{name}">{data}</node>'


def document(
    attributes: Iterable[Attribute],
    direction: Literal["directed", "undirected"],
    elements: Iterable[str],
    remark: str = "",
) -> str:
    """The document of ``elements``, lines of nodes and then of edges; ``remark`` stands before the graph."""
    keys = [
        f'<key id="{one.name}" for="{one.of}" attr.name="{one.name}" attr.type="{one.type}"/>'
        for one in attributes
    ]
    return "\n".join(
        [
            '<?xml version="1.0" encoding="utf-8"?>',
            *([f"<!-- {remark} -->"] if remark else []),
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
            *keys,
            f'<graph edgedefault="{direction}">',
            *elements,
            "</graph>",
            "</graphml>",
            "",
        ]
    )
