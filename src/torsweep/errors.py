"""The errors a user can cause, and the exit code each one ends a command with.

A command line front end catches :class:`TorsweepError`, prints its one-line message on standard
error and exits with :attr:`TorsweepError.exit_code`; a traceback therefore always means a defect in
torsweep itself.
"""

from __future__ import annotations

from pathlib import Path


class TorsweepError(Exception):
    """Something a user can understand and mend; exit code 1 (the work failed)."""

    exit_code = 1


class InputError(TorsweepError):
    """Bad input or configuration; exit code 2.

    The message names the file, the key in it, the value found and what is accepted.
    """

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
        where = ": ".join(str(part) for part in (file, key) if part not in (None, ""))
        text = f"{where}: {problem}" if where else problem
        if value is not None:
            text += f", got {_short(value)}"
        if accepted:
            text += f"; accepted: {accepted}"
        super().__init__(text)


class OutputError(TorsweepError):
    """The place for results cannot take them: full, read-only, or in use by another run; exit code 2.

    Counted with bad input, because what mends it is in the user's hands and nothing has been lost.
    """

    exit_code = 2


class ToolMissing(TorsweepError):
    """A program or library outside the package is not there; exit code 3."""

    exit_code = 3


def _short(value: object, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
