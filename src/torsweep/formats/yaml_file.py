r"""YAML files, in a subset of YAML 1.2 whose values have one obvious meaning.

In: a path, or the text of one value. Out: the mapping at the top, or the value. ``true`` and ``false`` are
the only booleans, ``null`` and ``~`` the only nulls; numbers are decimal. What YAML 1.1 reads as another
number (``1:30`` as 90, ``010`` as 8, ``1_000``, ``0x10``) is refused where no quotes make it a text; its
other booleans (``yes``, ``on``) and its dates are texts. Keys that stand twice, tags, documents after the
first, aliases that stand for too much and aliases of themselves are refused.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, cast

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

from torsweep.errors import InputError
from torsweep.formats.files import read_bytes
from torsweep.formats.limits import MOST_INTEGER, MOST_YAML_BYTES, MOST_YAML_DEPTH, MOST_YAML_VALUES

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?\Z|[-+]?\.[0-9]+\Z")
_SURPRISE = re.compile(
    r"""[-+]?0[0-9_]+\Z                        # octal in YAML 1.1, decimal to the eye
    |[-+]?0[xob][0-9a-fA-F_]+\Z
    |[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z  # of base sixty
    |[-+]?[0-9][0-9,]*_[0-9_]*(?:\.[0-9_]*)?\Z
    |[-+]?0[0-9]+\.[0-9]*\Z
    |[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z""",
    re.VERBOSE,
)
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
_MOST_CHARACTERS = 40


class _Refused(Exception):
    """What is wrong, and where it is known: ``line 3``, counted from 1."""

    def __init__(self, problem: str, mark: Any = None) -> None:
        super().__init__(problem)
        self.where = None if mark is None else f"line {mark.line + 1}"


class _Loader(Reader, Scanner, Parser, Composer, SafeConstructor, BaseResolver):
    """PyYAML's loader without tags and without the types that YAML 1.1 guesses."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        SafeConstructor.__init__(self)
        BaseResolver.__init__(self)
        self._level = 0
        self._values = 0
        self._open: set[str] = set()
        self._count_of: dict[str, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """A node of the document, once its tag, its depth and the values below it are accepted."""
        event = cast(Any, self.peek_event())
        if isinstance(event, yaml.AliasEvent):
            if event.anchor in self._open:
                raise _Refused(f"the alias *{event.anchor} stands for itself", event.start_mark)
            self._count(self._count_of.get(str(event.anchor), 0), event.start_mark)
            return super().compose_node(parent, index)
        if event.tag is not None:
            raise _Refused(f"the tag {str(event.tag)[:_MOST_CHARACTERS]} is not accepted", event.start_mark)
        self._level += 1
        if self._level > MOST_YAML_DEPTH:
            raise _Refused(f"is nested deeper than {MOST_YAML_DEPTH} levels", event.start_mark)
        before = self._values
        self._count(1, event.start_mark)
        if event.anchor is not None:
            self._open.add(event.anchor)
        node = super().compose_node(parent, index)
        if event.anchor is not None:
            self._open.discard(event.anchor)
            self._count_of[event.anchor] = self._values - before
        self._level -= 1
        return node

    def _count(self, values: int, mark: Any) -> None:
        self._values += values
        if self._values > MOST_YAML_VALUES:
            raise _Refused(f"holds more than {MOST_YAML_VALUES} values, aliases counted in full", mark)

    def construct_scalar_value(self, node: yaml.ScalarNode) -> object:
        """The value of a scalar: a text where it is quoted, else what its characters say."""
        return node.value if node.style is not None else _plain(node.value, node.start_mark)

    def construct_unique_mapping(self, node: yaml.MappingNode) -> dict[object, object]:
        """A mapping whose keys are texts or numbers, each there once."""
        seen: dict[object, int] = {}
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            line = key_node.start_mark.line + 1
            if not isinstance(key, str | int | float) or isinstance(key, bool):
                raise _Refused("a key that is neither text nor number", key_node.start_mark)
            if key in seen:
                shown = str(key)[:_MOST_CHARACTERS]
                problem = f"key '{shown}' stands twice, the first time in line {seen[key]}"
                raise _Refused(problem, key_node.start_mark)
            seen[key] = line
        values = (self.construct_object(value_node, deep=True) for _, value_node in node.value)
        return dict(zip(seen, values, strict=True))

    def construct_items(self, node: yaml.SequenceNode) -> list[object]:
        """A list."""
        return [self.construct_object(item, deep=True) for item in node.value]


_Loader.yaml_constructors = {
    "tag:yaml.org,2002:str": _Loader.construct_scalar_value,
    "tag:yaml.org,2002:map": _Loader.construct_unique_mapping,
    "tag:yaml.org,2002:seq": _Loader.construct_items,
}


def _plain(text: str, mark: Any) -> object:
    if text in _WORDS:
        return _WORDS[text]
    if _SURPRISE.match(text):
        shown = text[:_MOST_CHARACTERS]
        raise _Refused(
            f"{shown} is no decimal number and may be read in more ways than one: write a decimal number, "
            f'or "{shown}" for a text',
            mark,
        )
    if len(text) <= _MOST_CHARACTERS and _INTEGER.match(text):
        if abs(int(text)) > MOST_INTEGER:
            raise _Refused(f"{text} is beyond 64 bits", mark)
        return int(text)
    if len(text) > _MOST_CHARACTERS and (_INTEGER.match(text) or _FLOAT.match(text)):
        raise _Refused(f"a number of {len(text)} characters", mark)
    if _FLOAT.match(text):
        if not math.isfinite(float(text)):
            raise _Refused(f"{text} is too large a number", mark)
        return float(text)
    return text


def read_yaml(file: Path) -> dict[str, Any]:
    """The mapping in the YAML file ``file``.

    Raises InputError when the file cannot be read, is not the YAML of the module's docstring, or holds
    something else than a mapping at its top.
    """
    content = read_bytes(file, MOST_YAML_BYTES)
    try:
        document = _loaded(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", file=file) from None
    except _Refused as refusal:
        raise InputError(str(refusal), file=file, key=refusal.where) from None
    if not isinstance(document, dict):
        found = "nothing" if document is None else type(document).__name__
        raise InputError(f"expected a mapping of keys to values at the top, found {found}", file=file)
    return document


def parse_scalar(text: str) -> object:
    """The value of ``text`` in YAML: ``2`` is a number, ``30 s`` a text; of no YAML, the text itself."""
    try:
        return _loaded(text)
    except _Refused:
        return text


def _loaded(text: str) -> Any:
    """The only document in ``text``; :class:`_Refused` says in one line why there is none."""
    try:
        loader = _Loader(text)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _Refused(f"is not valid YAML: {error.problem or error.context or 'broken'}", mark) from None
    except yaml.reader.ReaderError as error:
        raise _Refused(
            f"is not valid YAML: character {error.character!r} at position {error.position} is not accepted"
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        first_line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise _Refused(f"is not valid YAML: {first_line}") from None
