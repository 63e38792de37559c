r"""YAML files, in a subset of YAML 1.2 whose values have one obvious meaning.

In: a path, or the text of one value. Out: the mapping at the top, or the value. ``true`` and ``false`` are
the only booleans, ``null`` and ``~`` the only nulls; numbers are decimal. What YAML 1.1 reads as another
number (``1:30`` as 90, ``010`` as 8), its other booleans (``yes``, ``on``) and its dates are texts. Keys that
stand twice, tags, documents after the first and aliases of themselves are refused. Configurations of other
programs are read as YAML 1.1. Both kinds are refused where they are nested too deep, or where aliases make
them too large: libyaml would end in a segmentation fault, or whoever reads the values in no time.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from torsweep.errors import InputError
from torsweep.formats.files import KIB, MOST_INTEGER, read_bytes

MOST_YAML_BYTES = 256 * KIB
"""A configuration file; those that torsweep ships have less than 6 KiB."""

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?\Z|[-+]?\.[0-9]+\Z")
_YAML_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
_MOST_CHARACTERS = 40
_MOST_DEPTH = 100
_MOST_COPIES = 1_000_000
"""Values that aliases may stand for, each counted as often as it is named."""

_C_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(yaml.BaseLoader):
    """PyYAML's loader without tags and without the types that YAML 1.1 guesses."""

    def construct_plain(self, node: yaml.ScalarNode) -> object:
        """The value of a scalar: a text where it is quoted, else what its characters say."""
        return node.value if node.style is not None else _plain(node.value, node)

    def construct_unique(self, node: yaml.MappingNode) -> dict[Hashable, object]:
        """A mapping whose keys are texts or numbers, each there once."""
        mapping: dict[Hashable, object] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str | int | float) or isinstance(key, bool):
                raise _refused("a key that is neither text nor number", key_node)
            if key in mapping:
                raise _refused(f"key '{str(key)[:_MOST_CHARACTERS]}' is given twice", key_node)
            mapping[key] = self.construct_object(value_node, deep=True)
        return mapping

    def construct_tagged(self, node: yaml.Node) -> object:
        """Construct values with other tags than text, list and mapping."""
        raise _refused(f"the tag {node.tag[:_MOST_CHARACTERS]} is not accepted", node)


_Loader.yaml_constructors = {
    "tag:yaml.org,2002:str": _Loader.construct_plain,
    "tag:yaml.org,2002:map": _Loader.construct_unique,
    "tag:yaml.org,2002:seq": lambda loader, node: loader.construct_sequence(node, deep=True),
    None: _Loader.construct_tagged,
}


def _refused(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def _plain(text: str, node: yaml.Node) -> object:
    if text in _YAML_WORDS:
        return _YAML_WORDS[text]
    if not _FLOAT.match(text):
        return text
    shown = text[:_MOST_CHARACTERS]
    number = int(text) if _INTEGER.match(shown) and shown == text else float(text)
    most = MOST_INTEGER if isinstance(number, int) else sys.float_info.max
    if len(text) > _MOST_CHARACTERS or abs(number) > most:
        raise _refused(f"{shown} is too large a number, or has too many digits", node)
    return number


def read_yaml(file: Path) -> dict[str, Any]:
    """The mapping in the YAML file ``file``; InputError when it cannot be read, is not the YAML of the
    module's docstring, or holds something else than a mapping at its top."""
    try:
        document = _loaded(read_bytes(file, MOST_YAML_BYTES).decode("utf-8"))
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", file=file) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}" if mark else None
        problem = f"is not valid YAML: {error.problem or error.context or 'broken'}"
        raise InputError(problem, file=file, key=where) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        first_line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"is not valid YAML: {first_line}", file=file) from None
    if not isinstance(document, dict):
        content = "nothing" if document is None else type(document).__name__
        raise InputError(f"expected a mapping of keys to values at the top, found {content}", file=file)
    return document


def parse_other_yaml(content: bytes | str, file: Path) -> Any:
    """The content of another program's configuration ``file``; InputError when it is no YAML 1.1."""
    try:
        _require_bounded(content)
        return yaml.load(content, Loader=_C_LOADER)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # A ValueError: the text is not UTF-8, a date is impossible, or a number has too many digits.
        raise InputError(f"is not valid YAML: {' '.join(str(error).split())}", file=file) from None


def _require_bounded(content: bytes | str) -> None:
    """yaml.YAMLError where ``content`` is nested too deep, or its aliases stand for too many values. The
    parser's events are flat; building values of them is what recurses."""
    sizes, open_sizes, anchors, copies = dict[str | None, int](), [0], list[str | None](), 0
    for event in yaml.parse(content, Loader=_C_LOADER):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.CollectionStartEvent):
            open_sizes.append(0)
            anchors.append(event.anchor)
            if len(open_sizes) > _MOST_DEPTH:
                raise yaml.YAMLError(f"line {line} is nested more than {_MOST_DEPTH} deep")
        elif isinstance(event, yaml.AliasEvent):
            size = sizes.get(event.anchor, 1)
            open_sizes[-1] += size
            copies += size
            if copies > _MOST_COPIES:
                raise yaml.YAMLError(f"line {line}: aliases stand for too many values")
        elif isinstance(event, yaml.ScalarEvent):
            open_sizes[-1] += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            size = open_sizes.pop() + 1
            open_sizes[-1] += size
            sizes[anchors.pop()] = size


def parse_scalar(text: str) -> object:
    """The value of ``text`` in YAML: ``2`` is a number, ``30 s`` a text; of no YAML, the text itself."""
    try:
        return _loaded(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return text


def _loaded(text: str) -> Any:
    """The only document in ``text``; yaml.YAMLError, ValueError or RecursionError when there is none."""
    _require_bounded(text)
    loader = _Loader(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()
