"""Damage to a document: bytes flipped, cut and doubled; keys dropped and doubled; values retyped and extreme.

In: the bytes of a valid document, and a strategy of hypothesis that draws a :class:`Damage`. Out: other
bytes. A damage is plain data, so that hypothesis can shrink it and print it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

EXTREMES = (
    *("0", "-1", "1", "2", "-0", "010", "0x10", "1_000", "1:30", "1e400", "-1e400", "1e-400", "1.5", ".5"),
    *("NaN", "Infinity", ".nan", ".inf", "null", "~", "true", "false", "yes", "on", "9" * 400),
    *("255", "65536", "2147483648", "4294967296", "9223372036854775808", "1e18", "0.0000001", '""', '" "'),
    *('"\\ud800"', '"0 s"', '"1 h"', '"0 B/s"', '"9999999 h"', '"../../../x"', '"\\n"', '"é"', '"-1"'),
    *('"1:30"', '"' + "a" * 5000 + '"', "[]", "{}", "[[]]", "[null]", '{"a": 1}', "[1, 2]"),
)
"""Values of JSON and of YAML, and such as are values of neither."""

WORDS = ("nan", "inf", "-1", "1e400", "9" * 400, "0", "", ",", '"', "\t", "-->", "\x00", "é", "#")
"""Words of a text or of a table."""

RAW = (b"\x00", b"\xff", b"\x00" * 64, b"\xff" * 64, b"\xef\xbb\xbf", b"\r\n", b"\xc3\x28")
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
        content = _damaged_tree(content, trees)
    for change in changes:
        if change.kind in _CHANGES:
            content = _CHANGES[change.kind](content, change)
    return content


def _place(content: bytes, change: Damage) -> int:
    return int(change.where * len(content))


def _stretch(content: bytes, change: Damage) -> tuple[int, int]:
    first = _place(content, change)
    # Short stretches are as likely as long ones.
    return first, first + 1 + int((len(content) - first) * change.extent**4)


def _flip(content: bytes, change: Damage) -> bytes:
    if not content:
        return content
    changed = bytearray(content)
    changed[_place(content, change)] ^= 1 << change.choice % 8
    return bytes(changed)


def _cut(content: bytes, change: Damage) -> bytes:
    first, last = _stretch(content, change)
    return content[:first] + content[last:]


def _end(content: bytes, change: Damage) -> bytes:
    return content[: _place(content, change)]


def _double(content: bytes, change: Damage) -> bytes:
    first, last = _stretch(content, change)
    return content[:last] + content[first:]


def _insert(content: bytes, change: Damage) -> bytes:
    place = _place(content, change)
    return content[:place] + RAW[change.choice % len(RAW)] + content[place:]


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
    "double": _double,
    "insert": _insert,
    "overwrite": _overwrite,
    "word": _word,
    "drop_line": _repeat_line(0),
    "double_line": _repeat_line(2),
}

BYTE_KINDS = ("flip", "cut", "end", "double", "insert", "overwrite")
LINE_KINDS = (*BYTE_KINDS, "word", "word", "drop_line", "double_line")

TREE_KINDS = ("drop_key", "double_key", "rename_key", "extreme", "retype", "empty")
DOCUMENT_KINDS = (*BYTE_KINDS, *TREE_KINDS, "extreme", "extreme", "extreme", "drop_key")


class _Raw(str):
    """A value as it will stand in the document."""


def _damaged_tree(content: bytes, changes: list[Damage]) -> bytes:
    tree = _pairs(json.loads(content))
    for change in changes:
        places = list(_places(tree))
        if not places:
            break
        holder, index = places[int(change.where * len(places))]
        _change_at(holder, index, change)
    return _text(tree).encode("utf-8", "surrogatepass")


def _pairs(value: Any) -> Any:
    """Objects as lists of pairs behind a mark, so that a key can stand twice."""
    if isinstance(value, dict):
        return ["{", *([key, _pairs(inner)] for key, inner in value.items())]
    if isinstance(value, list):
        return ["[", *map(_pairs, value)]
    return _Raw(json.dumps(value, ensure_ascii=False))


def _places(tree: Any) -> Any:
    """Every holder with an index into it: a pair of an object, or an item of a list."""
    if isinstance(tree, list):
        for index, item in enumerate(tree[1:], start=1):
            yield tree, index
            yield from _places(item[1] if tree[0] == "{" else item)


def _change_at(holder: list, index: int, change: Damage) -> None:
    keyed = holder[0] == "{"
    extreme = _Raw(EXTREMES[change.choice % len(EXTREMES)])
    match change.kind:
        case "drop_key":
            del holder[index]
        case "double_key":
            holder.insert(index, list(holder[index]) if keyed else holder[index])
        case "rename_key" if keyed:
            holder[index][0] = ("", "x", "name", "é", "a\nb", "1", "x" * 3000)[change.choice % 7]
        case "empty":
            _set(holder, index, _Raw(("[]", "{}", '""', "null")[change.choice % 4]))
        case _:
            _set(holder, index, extreme)


def _set(holder: list, index: int, value: _Raw) -> None:
    holder[index] = [holder[index][0], value] if holder[0] == "{" else value


def _text(tree: Any) -> str:
    if isinstance(tree, _Raw):
        return str(tree)
    if tree[0] == "{":
        inner = ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {_text(value)}" for key, value in tree[1:])
        return "{" + inner + "}"
    return "[" + ", ".join(map(_text, tree[1:])) + "]"
