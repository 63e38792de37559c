"""Logs of simulated hosts, cut into lines and fields: many files at once, in bounded memory.

In: the folder of hosts that Shadow leaves. Out: frames with a row for each line, in batches of some megabytes
that threads parse side by side.
"""

from __future__ import annotations

import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl

from torsweep.errors import InputError
from torsweep.formats.files import require_regular
from torsweep.units import counted

TEXT = pl.col("text")

TIME = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \d+\.\d{6} "
"""How every line of both programs begins."""


def time_us() -> pl.Expr:
    """The time of a line, µs since 1970; null where it does not begin with :data:`TIME`."""
    seconds = TEXT.str.extract(r"^\S+ \S+ (\d{1,12})\.\d{6} ").cast(pl.Int64)
    microseconds = TEXT.str.extract(r"^\S+ \S+ \d+\.(\d{6}) ").cast(pl.Int64)
    return (seconds * 1_000_000 + microseconds).alias("time_us")


def words(patterns: Mapping[str, str]) -> list[pl.Expr]:
    """The first group of each pattern, under its name; null where there is no match."""
    return [TEXT.str.extract(pattern).alias(name) for name, pattern in patterns.items()]


def numbers(patterns: Mapping[str, str]) -> list[pl.Expr]:
    """The first group of each pattern as a 64-bit integer column; null without a match."""
    return [
        TEXT.str.extract(pattern).cast(pl.Int64, strict=False).alias(name)
        for name, pattern in patterns.items()
    ]


def check_versions(
    logs: Sequence[Log], versions: pl.DataFrame, program: str, oldest: tuple[int, ...]
) -> None:
    """Raise InputError for a log without one of ``versions`` (log, line, version), which is no log of
    ``program`` from its start on, and for a version below ``oldest``, whose lines mean something else."""
    accepted = f"{program} {'.'.join(map(str, oldest))} or later"
    missing = sorted(set(range(len(logs))) - set(versions["log"]))
    if missing:
        raise logs[missing[0]].error(f"has no line that names the version of {program}", accepted=accepted)
    for log, line, version in versions.select("log", "line", "version").iter_rows():
        numbers = tuple(int(part) if part.isdigit() else 0 for part in version.split("-")[0].split("."))
        if numbers < oldest:
            raise logs[log].error("is of another version", line=line, value=version, accepted=accepted)


def check_fields(
    logs: Sequence[Log], lines: pl.DataFrame, needed: Sequence[str], what: str, accepted: str
) -> None:
    """Raise InputError for the first of ``lines``, which are each a ``what``, without a ``needed`` field."""
    for name in needed:
        lacking = lines.filter(pl.col(name).is_null())
        if lacking.height:
            log, line, text = lacking.select("log", "line", "text").row(0)
            problem = f"is no {what} that this version can read (no {name})"
            raise logs[log].error(problem, line=line, value=text[:60], accepted=accepted)


if TYPE_CHECKING:
    from _typeshed import DataclassInstance

BATCH_BYTES = 16 * 2**20
"""Text that one thread holds at a time; its frame takes about three times as much."""

SUFFIXES = ("", ".gz", ".xz")

_OPENERS = {".gz": gzip.open, ".xz": lzma.open}

_NO_LINES = pl.DataFrame(schema={"log": pl.Int64, "line": pl.Int64, "text": pl.String})

Parsed = TypeVar("Parsed", bound="DataclassInstance")


@dataclass(frozen=True)
class Log:
    """The standard output of one process of the host ``host``."""

    host: str
    path: Path

    def error(self, problem: str, *, line: int | None = None, **details: str) -> InputError:
        """An InputError about this file, at ``line`` (from 1) where one is to blame."""
        key = None if line is None else f"line {line}"
        return InputError(problem, file=self.path, key=key, **details)


def find_logs(hosts: Path, program: str, names: Iterable[str], output: str = "stdout") -> list[Log]:
    """The log of ``program`` on each host of ``names`` that has one, in their order; a plain one counts
    before a compressed one. InputError for a host with the logs of two processes."""
    # Shadow 3 calls it PROGRAM.PID.stdout, Shadow 2 HOST.PROGRAM.PID.stdout.
    endings = tuple(f".{output}{suffix}" for suffix in SUFFIXES)
    logs_of_hosts = []
    for name in names:
        try:
            entries = os.listdir(hosts / name)
        except FileNotFoundError:
            continue
        beginnings = (f"{program}.", f"{name}.{program}.")
        logs = sorted(entry for entry in entries if entry.startswith(beginnings) and entry.endswith(endings))
        if len({log.partition(f".{output}")[0] for log in logs}) > 1:
            problem, accepted = f"has the logs of several {program}", f"that of one {program} a host"
            raise InputError(problem, file=hosts / name, value=", ".join(logs), accepted=accepted)
        logs_of_hosts += [Log(name, hosts / name / log) for log in logs[:1]]
    return logs_of_hosts


def find_all_logs(hosts: Path, program: str, names: Collection[str]) -> list[Log]:
    """:func:`find_logs` of hosts that all have one; else InputError."""
    logs = find_logs(hosts, program, names)
    missing = sorted(set(names) - {log.host for log in logs})
    if missing:
        others = f", nor have {counted(len(missing) - 1, 'other host')}" if len(missing) > 1 else ""
        raise InputError(f"has no log of {program}{others}", file=hosts / missing[0])
    return logs


def parse_logs(logs: Sequence[Log], parse: Callable[[pl.DataFrame], Parsed]) -> Parsed:
    """Run ``parse`` on all lines, in the order of the logs, on as many threads as there are cores.

    ``parse`` gets frames with the columns ``log`` (index into ``logs``), ``line`` (number in its file, from
    1) and ``text``; lines of a file larger than a batch come in several frames. It returns a dataclass of
    frames and counts: the frames of all batches are put below each other, the counts added. Raises InputError
    when a file ends in the middle of a line or of its compressed data.
    """
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        tasks = [
            pool.submit(lambda group: [parse(frame) for frame in _frames(logs, group)], group)
            for group in _groups(logs)
        ]
        try:
            parts = [parsed for task in tasks for parsed in task.result()]
        finally:
            for task in tasks:
                task.cancel()
    return _together(parts or [parse(_NO_LINES)])


def _together(parts: Sequence[Parsed]) -> Parsed:
    whole: dict[str, Any] = {}
    for field in fields(parts[0]):
        values = [getattr(part, field.name) for part in parts]
        whole[field.name] = pl.concat(values) if isinstance(values[0], pl.DataFrame) else sum(values)
    return replace(parts[0], **whole)


def _groups(logs: Sequence[Log]) -> Iterator[range]:
    """Runs of indices whose files have about a batch of bytes together."""
    first, held = 0, 0
    for index, log in enumerate(logs):
        held += log.path.stat().st_size
        if held >= BATCH_BYTES:
            yield range(first, index + 1)
            first, held = index + 1, 0
    if first < len(logs):
        yield range(first, len(logs))


def _frames(logs: Sequence[Log], group: range) -> Iterator[pl.DataFrame]:
    pieces: list[tuple[int, int, int, str]] = []
    held = 0
    for index in group:
        next_line = 1
        for text in _pieces(logs[index], next_line):
            lines = text.count("\n") + 1
            pieces.append((index, next_line, lines, text))
            next_line += lines
            held += len(text)
            if held >= BATCH_BYTES:
                yield _frame(pieces)
                pieces, held = [], 0
    if pieces:
        yield _frame(pieces)


def _frame(pieces: Sequence[tuple[int, int, int, str]]) -> pl.DataFrame:
    counts = [lines for _, _, lines, _ in pieces]
    text = pl.Series([piece[3] for piece in pieces]).str.split("\n").explode(empty_as_null=True)
    numbers = np.concatenate([np.arange(first, first + lines) for _, first, lines, _ in pieces])
    return pl.DataFrame(
        {
            "log": np.repeat(np.array([piece[0] for piece in pieces], dtype=np.int64), counts),
            "line": numbers.astype(np.int64),
            "text": text,
        }
    )


def _pieces(log: Log, line: int) -> Iterator[str]:
    """The text of ``log`` in pieces of whole lines, each without its last line end."""
    rest = b""
    require_regular(log.path)
    try:
        opener: Any = _OPENERS.get(log.path.suffix, open)
        with opener(log.path, "rb") as file:
            while data := file.read(BATCH_BYTES):
                whole, newline, tail = data.rpartition(b"\n")
                if not newline:
                    rest += tail
                    continue
                text = (rest + whole).decode("utf-8", "replace")
                line += text.count("\n") + 1
                rest = tail
                yield text
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError):
        raise log.error("is cut off or damaged: its compressed data end early") from None
    except OSError as error:
        raise log.error(f"cannot be read: {error.strerror or error}") from None
    if rest:
        raise log.error("ends in the middle of a line: the log is cut off", line=line)
