"""What a program of others answers to a short question, such as ``--version``.

In: a command, and how long to wait. Out: its exit code, and what it wrote, as text whatever its bytes.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

PATIENCE_S = 10
"""A program answers within a second, or hangs."""


class NoAnswer(Exception):
    """The program did not start, or came to no end: why, as a clause without a subject."""


def ask(
    command: Sequence[str | Path],
    patience_s: float,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """What ``command`` answers within ``patience_s`` seconds, in English; NoAnswer where it does not.

    ``environment`` is beside this process's own, ``folder`` where it is run.
    """
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "LC_ALL": "C", **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=patience_s,
            check=False,
        )
    except OSError as error:
        raise NoAnswer(f"does not start: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"gives no answer within {patience_s} s") from None
