"""The errors a user can cause: each is one line on standard error, and an exit code (:mod:`torsweep.ending`).

A traceback always means a defect in torsweep itself.
"""

from __future__ import annotations

import reprlib
from pathlib import Path


class TorsweepError(Exception):
    """The work failed, and a user can put right why; exit code 1."""

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(_one_line(message))


class InputError(TorsweepError):
    """Bad input or configuration, by file, key, value found and what is accepted; exit code 2."""

    exit_code = 2

    def __init__(
        self,
        problem: str,
        *,
        file: str | Path | None = None,
        key: str | None = None,
        value: object = None,
        accepted: str | None = None,
    ) -> None:
        named = None if key is None else _cut(key, _MOST_KEY_CHARACTERS)
        where = ": ".join(str(part) for part in (file, named) if part not in (None, ""))
        text = f"{where}: {problem}" if where else problem
        if value is not None:
            text += f", got {_short(value)}"
        if accepted:
            text += f"; accepted: {accepted}"
        super().__init__(text)


class OutputError(TorsweepError):
    """The place for results cannot take them: full, read-only, or in use by another run; exit code 2.

    Counted with bad input, because the user can remove the cause, and nothing has been lost.
    """

    exit_code = 2


class ToolMissing(TorsweepError):
    """A program or library outside the package is not there; exit code 3."""

    exit_code = 3


_MOST_KEY_CHARACTERS = 200
_MOST_VALUE_CHARACTERS = 80

_REPR = reprlib.Repr()
_REPR.maxlevel, _REPR.maxlong = 4, 2 * _MOST_VALUE_CHARACTERS
_REPR.maxlist = _REPR.maxtuple = _REPR.maxdict = _REPR.maxset = 20
"""Of a list in a list, ten deep, that stands for a thousand million values, it shows a few."""


def _short(value: object) -> str:
    # What is large is cut before it is written out, and not after.
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _cut(repr(value[: 2 * _MOST_VALUE_CHARACTERS]), _MOST_VALUE_CHARACTERS)
    return _cut(_REPR.repr(value), _MOST_VALUE_CHARACTERS)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _one_line(text: str) -> str:
    """``text`` with escapes in place of line ends and of other characters that cannot be printed."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
