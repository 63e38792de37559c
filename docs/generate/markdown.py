"""Markdown of the reference: tables, links, and texts of docstrings.

In: texts as declarations have them. Out: lines of Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_ROLE = re.compile(r":\w+:`~?(?:[\w.]*\.)?(\w+)`")


def prose(text: str | None) -> str:
    """A docstring, or a part of one, as one line of Markdown."""
    plain = _ROLE.sub(r"`\1`", " ".join((text or "").split()))
    return plain.replace("``", "`")


def sentence(text: str | None) -> str:
    """:func:`prose` that begins with a capital, where it begins with a small letter, and ends with a stop."""
    line = prose(text)
    return line and f"{line[0].upper()}{line[1:].rstrip('.')}."


def code(text: object) -> str:
    """``text`` as code."""
    return f"`{text}`"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table, with an empty one after them; none where there are no rows."""
    lines = [_row(row) for row in rows]
    return [_row(headings), "|" + "---|" * len(headings), *lines, ""] if lines else []


def slug(heading: str) -> str:
    """The anchor of a heading, which forges of git and MyST make alike of such plain headings."""
    return re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
