"""What a program of others answers to a short question, such as ``--version``.

In: a command, and how long to wait. Out: its exit code, and what it wrote, as text whatever its bytes. A
program that never ends, or never stops writing, costs that time and :data:`MOST_BYTES` at most.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

PATIENCE_S = 10
"""A program answers within a second, or hangs."""

MOST_BYTES = 1_000_000
"""All options of tor are 10,000 bytes."""


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
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "LC_ALL": "C", **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        raise NoAnswer(f"does not start: {error.strerror}") from None
    with process:
        try:
            output, errors = _read(process, time.monotonic() + patience_s)
        except TimeoutError:
            raise NoAnswer(f"gives no answer within {patience_s} s") from None
        finally:
            process.kill()
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _read(process: subprocess.Popen[bytes], give_up: float) -> tuple[str, str]:
    """Both outputs of ``process``, when it has ended; TimeoutError where that is not before ``give_up``."""
    assert process.stdout is not None and process.stderr is not None
    said = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    with selectors.DefaultSelector() as selector:
        for descriptor in said:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(give_up - time.monotonic(), 0))
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                piece = os.read(key.fd, 1 << 16)
                said[key.fd] += piece
                if not piece:
                    selector.unregister(key.fd)
                if len(said[key.fd]) > MOST_BYTES:
                    raise NoAnswer("gives an answer without end")
    try:
        process.wait(max(give_up - time.monotonic(), 0))
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    output, errors = (text.decode(errors="replace") for text in said.values())
    return output, errors
