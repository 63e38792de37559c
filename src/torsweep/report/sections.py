"""The tables of summary.md, for a page.

In: the text of a plan's summary.md. Out: its opening paragraphs and its :class:`Section` s, word for word: a
page says what the summary says.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

Row = tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """A table under its title, and the notes below it."""

    title: str
    header: Row
    rows: tuple[Row, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class SummaryText:
    """summary.md: the paragraphs below its title, and its sections in order."""

    opening: tuple[str, ...]
    sections: tuple[Section, ...]


def parse_summary(text: str) -> SummaryText:
    """The parts of ``text``, as :func:`torsweep.stats.summarize.summary_text` wrote it."""
    nodes = SyntaxTreeNode(MarkdownIt("commonmark").enable("table").parse(text)).children
    starts = [number for number, node in enumerate(nodes) if node.type == "heading" and node.tag == "h2"]
    opening = _paragraphs(nodes[: starts[0] if starts else len(nodes)])
    parts = [nodes[start:end] for start, end in pairwise([*starts, len(nodes)])]
    return SummaryText(opening, tuple(_section(part) for part in parts))


def _section(nodes: list[SyntaxTreeNode]) -> Section:
    header, rows = _table(nodes)
    return Section(_text(nodes[0]), header, rows, _paragraphs(nodes[1:]))


def _table(nodes: list[SyntaxTreeNode]) -> tuple[Row, tuple[Row, ...]]:
    found = [
        tuple(_text(cell) for cell in row.children)
        for table in nodes
        if table.type == "table"
        for part in table.children
        for row in part.children
    ]
    return (found[0], tuple(found[1:])) if found else ((), ())


def _paragraphs(nodes: list[SyntaxTreeNode]) -> tuple[str, ...]:
    return tuple(_text(node) for node in nodes if node.type == "paragraph")


def _text(node: SyntaxTreeNode) -> str:
    """The text of ``node`` without its marks; line ends are spaces."""
    if node.type in ("text", "code_inline"):
        return node.content
    if node.type in ("softbreak", "hardbreak"):
        return " "
    return "".join(_text(child) for child in node.children)
