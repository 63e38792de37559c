"""Whether the project's series goes with every tor of a comparison; otherwise both are built without it.

In: the tors. Out: the same, or all of them without the series, and the sentence that says so. The series is
tried on the source, before anything is built.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from torsweep.errors import InputError
from torsweep.study.tors import DEBIAN, Tor
from torsweep.tor.release import Release, apply_series, read_series, unpack
from torsweep.tor.repository import export, find_commit

NO_SERIES = "the project's series"


def fitting(tors: Sequence[Tor]) -> tuple[list[Tor], str]:
    """``tors`` as they can be compared, and what there is to say; nothing where all take the series."""
    for tor in tors:
        why = _why_not(tor)
        if why:
            return [each.without_series() for each in tors], f"{NO_SERIES} is left out of both, as {why}"
    return list(tors), ""


def _why_not(tor: Tor) -> str:
    """Why ``tor`` has not the series; nothing where it has."""
    if tor.is_program:
        return f"{tor.words} is taken as it is"
    if tor.entry.get("source") == DEBIAN:
        return ""
    with tempfile.TemporaryDirectory(prefix="torsweep-series-") as scratch:
        tree = Path(scratch, "tor")
        lay_out(tor, tree)
        try:
            apply_series(read_series(), tree)
        except InputError as error:
            return f"it does not apply to {tor.words}: {error}"
    return ""


def lay_out(tor: Tor, tree: Path) -> None:
    """The source of ``tor``, of git or a release, at ``tree``, without series and patches."""
    if tor.repository is not None:
        export(find_commit(tor.repository, tor.entry["revision"]), tree)
    else:
        unpack(Release(Path(tor.entry["source"]), tor.identity, ""), tree)
