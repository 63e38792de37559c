"""Damage to a document: bytes flipped, cut, overwritten; lines dropped, doubled; keys and values changed.

In: the bytes of a valid document, and a strategy of hypothesis that draws a :class:`Damage`. Out: other
bytes. A damage is plain data, so that hypothesis can shrink it and print it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

VALUES: tuple[Any, ...] = (
    *(0, -1, 1, 1.5, 1e-7, 65536, 2**31, 2**63, 1e18, None, True, False),
    *("", " ", "-1", "1:30", "nan", "yes", "é", "\n", "0 s", "1 h", "9999999 h", "0 B/s", "../../../x"),
    *([], {}, [None], [1, 2], {"a": 1}),
)
"""Values of documents."""

KEYS = ("", "x", "name", "é", "a\nb", "1")

WORDS = ("nan", "inf", "-1", "1e400", "0", "", ",", '"', "\t", "-->", "\x00", "é", "#")
"""Words of a text or of a table."""

RAW = (b"\x00", b"\xff" * 64, b"\xef\xbb\xbf", b"\r\n", b"\xc3\x28")
"""Bytes for any format."""


@dataclass(frozen=True)
class Damage:
    """One change: what, where (two fractions of the document) and with what (an index of a list above)."""

    kind: str
    where: float
    extent: float
    choice: int


def damages(kinds: tuple[str, ...]) -> st.SearchStrategy[list[Damage]]:
    """One to four damages of ``kinds``."""
    fraction = st.floats(0, 1, exclude_max=True, allow_subnormal=False)
    one = st.builds(Damage, st.sampled_from(kinds), fraction, fraction, st.integers(0, 1000))
    return st.lists(one, min_size=1, max_size=4)


def damaged(content: bytes, changes: list[Damage]) -> bytes:
    """``content`` after ``changes``; those of trees come first, because they need a whole document."""
    trees = [change for change in changes if change.kind in TREE_KINDS]
    if trees:
        document = json.loads(content)
        for change in trees:
            _change_tree(document, change)
        content = json.dumps(document, ensure_ascii=False).encode()
    for change in changes:
        if change.kind in _CHANGES:
            content = _CHANGES[change.kind](content, change)
    return content


def _place(content: bytes, change: Damage) -> int:
    return int(change.where * len(content))


def _flip(content: bytes, change: Damage) -> bytes:
    changed = bytearray(content or b" ")
    changed[_place(changed, change)] ^= 1 << change.choice % 8
    return bytes(changed)


def _cut(content: bytes, change: Damage) -> bytes:
    first = _place(content, change)
    # Short stretches are as likely as long ones.
    return content[:first] + content[first + 1 + int((len(content) - first) * change.extent**4) :]


def _end(content: bytes, change: Damage) -> bytes:
    return content[: _place(content, change)]


def _overwrite(content: bytes, change: Damage) -> bytes:
    place, raw = _place(content, change), RAW[change.choice % len(RAW)]
    return content[:place] + raw + content[place + len(raw) :]


def _word(content: bytes, change: Damage) -> bytes:
    """One word of one line becomes another, its separators stay."""
    lines = content.split(b"\n")
    row = int(change.where * len(lines))
    separator = b"," if b"," in lines[row] else b" "
    words = lines[row].split(separator)
    words[int(change.extent * len(words))] = WORDS[change.choice % len(WORDS)].encode()
    lines[row] = separator.join(words)
    return b"\n".join(lines)


def _repeat_line(times: int) -> Callable[[bytes, Damage], bytes]:
    def repeat(content: bytes, change: Damage) -> bytes:
        lines = content.split(b"\n")
        row = int(change.where * len(lines))
        return b"\n".join([*lines[:row], *lines[row : row + 1] * times, *lines[row + 1 :]])

    return repeat


_CHANGES: dict[str, Callable[[bytes, Damage], bytes]] = {
    "flip": _flip,
    "cut": _cut,
    "end": _end,
    "overwrite": _overwrite,
    "word": _word,
    "drop_line": _repeat_line(0),
    "double_line": _repeat_line(2),
}

BYTE_KINDS = ("flip", "cut", "end", "overwrite")
LINE_KINDS = (*BYTE_KINDS, "word", "word", "drop_line", "double_line")

TREE_KINDS = ("drop", "rename", "replace")
DOCUMENT_KINDS = (*BYTE_KINDS, "drop", "rename", "replace", "replace", "replace", "replace")


def _change_tree(document: Any, change: Damage) -> None:
    """Drop, rename or replace one item of an object or a list, at any depth."""
    places = list(_places(document))
    if not places:
        return
    holder, key = places[int(change.where * len(places))]
    if change.kind == "drop":
        del holder[key]
    elif change.kind == "rename" and isinstance(holder, dict):
        holder[KEYS[change.choice % len(KEYS)]] = holder.pop(key)
    else:
        holder[key] = deepcopy(VALUES[change.choice % len(VALUES)])


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every object and list, with each of its keys or indices."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from _places(inner)
