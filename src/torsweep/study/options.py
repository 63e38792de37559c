"""What ``--torrc``, ``--consensus`` and ``--on`` say, as an entry of an experiment's ``options:``.

In: ``'Option value'``, ``name=value`` and ``role=relay,share=0.3``. Out: mappings for the models of
:mod:`torsweep.config`, which judge what is in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torsweep.config.reading import parse_scalar, validate
from torsweep.config.where import Where
from torsweep.errors import InputError

NAMES_APART = "+"
"""Stands between names and positions, as ``,`` stands between keys."""


def read_bundle(torrc: Sequence[str], consensus: Sequence[str], on: str | None) -> dict[str, Any]:
    """The entry of ``options:``; InputError for a text that says no option or parameter, or one twice."""
    entry: dict[str, Any] = {}
    for line in torrc:
        option, _, value = line.strip().partition(" ")
        _add(entry.setdefault("torrc", {}), option, value.strip(), "--torrc", line, "'Option value'")
    for line in consensus:
        name, _, value = line.partition("=")
        number = parse_scalar(value.strip())
        if isinstance(number, bool) or not isinstance(number, int):
            raise InputError("no whole number", key="--consensus", value=line, accepted="name=number")
        _add(entry.setdefault("consensus", {}), name.strip(), number, "--consensus", line, "name=number")
    if on is not None:
        if not torrc:
            problem = "says which hosts get torrc lines; the consensus is the same for all"
            raise InputError(problem, key="--on", value=on, accepted="--torrc beside it")
        entry["on"] = read_where(on)
    return entry


def read_where(text: str) -> dict[str, Any]:
    """The hosts ``role=relay,position=guard+exit,share=0.3`` or ``names=relay1+relay2``; InputError where
    there cannot be such."""
    where: dict[str, Any] = {}
    accepted = f"role=relay,share=0.3 or names=relay1{NAMES_APART}relay2"
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise InputError("is no key=value", key="--on", value=part, accepted=accepted)
        listed = value.split(NAMES_APART) if key in ("names", "position") else parse_scalar(value)
        _add(where, key, listed, "--on", text, accepted)
    validate(Where, where, "--on")
    return where


def _add(entry: dict[str, Any], key: str, value: Any, option: str, text: str, accepted: str) -> None:
    if not key or value in ("", None):
        raise InputError("says no name and value", key=option, value=text, accepted=accepted)
    if key in entry:
        raise InputError("names this twice", key=option, value=key, accepted="each once")
    entry[key] = value
