"""Readers of measured latencies: King's own files, p2psim topologies, plain matrices.

In: a file, its format, the unit of its numbers. Out: a matrix of RTTs, (hosts, hosts) in
microseconds, NaN where nothing was measured and on the diagonal.

``king-matrix`` and ``matrix``: a row of numbers a host, separated by blanks, tabs or commas; 0 off
the diagonal means not measured. ``p2psim``: an E2EGraph topology, ``topology E2EGraph 1740``, a line
``node 7`` a host, a line ``1,2 31400`` a pair, −1 where nothing was measured. ``king-measurements``:
``12.10.83.40 --> 12.104.199.65 1 101667 59192`` a probe, in microseconds whatever the unit; the RTT
is the difference of the last two, the median of a pair's probes counts.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from torsweep.errors import InputError
from torsweep.formats.text import text_lines
from torsweep.network.exact import Floats

MICROSECONDS_PER = {"us": 1.0, "ms": 1000.0, "s": 1_000_000.0}
GML = "gml"
"""Read by :mod:`torsweep.network.latency_gml`: it says more than a matrix."""
FORMATS = ("king-matrix", "king-measurements", "p2psim", "matrix", GML)

_LEAST_MEASURED = 0.5
"""A host measured with fewer of the others than this is left out of raw measurements."""
_MOST_HOSTS = 20_000
_LEAST_PAIRS = 0.1
"""Of the pairs of hosts that a topology announces: memory is taken for what is there."""
_TRIPLET = 3
_MOST_DIGITS = 18


def read_latencies(path: Path, file_format: str, unit: str | None) -> Floats:
    """The matrix in ``path``, which is no graph. Raises InputError naming line, column and value of what is
    wrong."""
    if file_format not in FORMATS:
        raise InputError("no such format", key="--format", value=file_format, accepted=", ".join(FORMATS))
    unit = checked_unit(unit)
    if file_format == "king-measurements":
        return _measurements(path)
    if file_format == "p2psim":
        return _p2psim(path) * MICROSECONDS_PER[unit]
    return _matrix(path) * MICROSECONDS_PER[unit]


def checked_unit(unit: str | None) -> str:
    """``unit``; InputError when it is none of ``MICROSECONDS_PER``."""
    if unit not in MICROSECONDS_PER:
        value, accepted = unit or "none", ", ".join(MICROSECONDS_PER)
        raise InputError("no such unit", key="--unit", value=value, accepted=accepted)
    return unit


def _matrix(path: Path) -> Floats:
    rows: list[Floats] = []
    for number, cells in _rows(path):
        row = _numbers(cells, path, number)
        if rows and len(row) != len(rows[0]):
            raise _bad(path, number, "not as long as the first row", len(row), f"{len(rows[0])} cells")
        if len(row) > _MOST_HOSTS or len(rows) >= _MOST_HOSTS:
            raise InputError("too many hosts", file=path, accepted=f"at most {_MOST_HOSTS}")
        rows.append(row)
    if not rows:
        raise InputError("is empty", file=path)
    if len(rows) > len(rows[0]) == _TRIPLET:
        raise InputError(
            "holds three numbers a line: pairs of hosts with an RTT, not a matrix",
            file=path,
            accepted="a row a host with an RTT to each host, or --format p2psim: lines such as '1,2 31400'",
        )
    if len(rows) != len(rows[0]):
        shape = f"{len(rows)} rows of {len(rows[0])} cells"
        raise InputError("not square", file=path, value=shape, accepted="as many rows as columns")
    matrix = np.stack(rows)
    matrix[matrix == 0] = np.nan
    np.fill_diagonal(matrix, np.nan)
    return matrix


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(text_lines(path), start=1):
        cells = line.replace(",", " ").split()
        if cells and not cells[0].startswith("#"):
            yield number, cells


def _numbers(cells: list[str], path: Path, line: int) -> Floats:
    """The cells of a row, none of them text, NaN, infinite or negative."""
    try:
        row = np.array(cells, dtype=np.float64)
    except ValueError:
        column = next(index for index, cell in enumerate(cells) if not _is_number(cell))
        raise _bad(path, line, f"column {column + 1} is not a number", cells[column]) from None
    for problem, wrong in (("is NaN or infinite", ~np.isfinite(row)), ("is negative", row < 0)):
        if wrong.any():
            column = int(np.argmax(wrong))
            accepted = "RTTs; 0 for a pair that was not measured"
            raise _bad(path, line, f"column {column + 1} {problem}", cells[column], accepted)
    return row


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _p2psim(path: Path) -> Floats:
    hosts, ends, rtts = 0, array("i"), array("d")
    for number, words in ((number, line.split()) for number, line in enumerate(text_lines(path), 1)):
        if not words or words[0].startswith("#") or words[0] in ("node", "failure_model"):
            continue
        if words[0] == "topology":
            hosts = _announced(words, path, number)
        elif not hosts:
            raise _bad(path, number, "a pair before the line 'topology E2EGraph HOSTS'", " ".join(words))
        else:
            *pair, rtt = _pair(words, hosts, path, number)
            ends.extend(pair)
            rtts.append(rtt)
    if not hosts:
        raise InputError("no line 'topology E2EGraph HOSTS' in it", file=path)
    if not len(rtts) or len(rtts) < _LEAST_PAIRS * hosts * (hosts - 1) / 2:
        value, accepted = (
            f"{len(rtts)} for {hosts} hosts",
            f"lines such as '1,2 31400', for {_LEAST_PAIRS:.0%}",
        )
        raise InputError("hardly any pair in it", file=path, value=value, accepted=accepted)
    matrix = np.full((hosts, hosts), np.nan)
    one, other = np.array(ends).reshape(-1, 2).T
    matrix[one, other] = matrix[other, one] = np.array(rtts)
    return matrix


def _announced(words: list[str], path: Path, line: int) -> int:
    sound = len(words) == 3 and words[1] == "E2EGraph" and _is_whole(words[2])
    if not sound or not 0 < int(words[2]) <= _MOST_HOSTS:
        accepted = f"topology E2EGraph HOSTS, at most {_MOST_HOSTS} hosts"
        raise _bad(path, line, "no such topology", " ".join(words), accepted)
    return int(words[2])


def _pair(words: list[str], hosts: int, path: Path, line: int) -> tuple[int, int, float]:
    try:
        one, other = (int(end) for end in words[0].split(","))
        rtt = float(words[1])
    except (ValueError, IndexError):
        raise _bad(path, line, "not a pair", " ".join(words), "'1,2 31400'") from None
    if not (1 <= one <= hosts and 1 <= other <= hosts):
        raise _bad(path, line, "no such host", words[0], f"1 to {hosts}")
    if not np.isfinite(rtt) or (rtt < 0 and rtt != -1):
        raise _bad(path, line, "not an RTT", words[1], "0 or more; −1 where nothing was measured")
    return one - 1, other - 1, rtt if rtt > 0 and one != other else np.nan


def _measurements(path: Path) -> Floats:
    """Medians of the probes of each pair of hosts, both directions together."""
    hosts: dict[str, int] = {}
    ends, rtts = array("i"), array("q")
    for number, words in ((number, line.split()) for number, line in enumerate(text_lines(path), 1)):
        if not words:
            continue
        rtt = _probe(words, path, number)
        if rtt > 0 and words[0] != words[2]:
            ends.extend(sorted(hosts.setdefault(name, len(hosts)) for name in (words[0], words[2])))
            rtts.append(rtt)
    if not rtts:
        raise InputError("no probe in it", file=path, accepted="lines such as 'A --> B 1 101667 59192'")
    if len(hosts) > _MOST_HOSTS:
        raise InputError("too many hosts", file=path, value=len(hosts), accepted=f"at most {_MOST_HOSTS}")
    return _well_measured(_median_of_pairs(np.array(ends).reshape(-1, 2), np.array(rtts), len(hosts)), path)


def _probe(words: list[str], path: Path, line: int) -> int:
    """A probe's RTT in microseconds; not positive when the second look-up was the quicker one."""
    if len(words) != 6 or words[1] != "-->" or not all(map(_is_whole, words[3:])):
        raise _bad(path, line, "not a probe", " ".join(words), "A --> B NUMBER MICROSECONDS MICROSECONDS")
    return int(words[4]) - int(words[5])


def _is_whole(word: str) -> bool:
    digits = word.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS


def _median_of_pairs(ends: np.ndarray, rtts: np.ndarray, hosts: int) -> Floats:
    cell = ends[:, 0].astype(np.int64) * hosts + ends[:, 1]
    order = np.lexsort((rtts, cell))
    cell, rtts = cell[order], rtts[order]
    first = np.flatnonzero(np.diff(cell, prepend=-1))
    count = np.diff(first, append=len(cell))
    medians = (rtts[first + (count - 1) // 2] + rtts[first + count // 2]) / 2
    matrix = np.full((hosts, hosts), np.nan)
    one, other = np.divmod(cell[first], hosts)
    matrix[one, other] = matrix[other, one] = medians
    return matrix


def _well_measured(matrix: Floats, path: Path) -> Floats:
    """Without the hosts that were measured with few of the others."""
    known = np.isfinite(matrix).mean(axis=1)
    kept = np.flatnonzero(known >= min(_LEAST_MEASURED, float(known.max())))
    if len(kept) < 3:
        raise InputError("too few hosts measured with each other", file=path, value=len(kept), accepted="3")
    return matrix[np.ix_(kept, kept)]


def _bad(path: Path, line: int, problem: str, value: object, accepted: str | None = None) -> InputError:
    return InputError(problem, file=path, key=f"line {line}", value=value, accepted=accepted)
