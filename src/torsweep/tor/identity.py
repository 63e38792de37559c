"""The key of a build of tor: of the content of source and patches, and the configure options.

A build's folder, run.json, engine versions and the pipeline's marker name it. Where the source lies does not
count.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from torsweep.errors import InputError
from torsweep.tor.compile import configure_flags
from torsweep.tor.release import SERIES, find_release, read_series

FROM_DEBIAN = "Debian's source package"
"""Stands for the content of a source that has not been fetched yet."""


def build_key(source_sha256: str, series_sha256: str, flags: list[str]) -> str:
    """The key of a build from a source, with a series and options of configure: twelve hexadecimal digits."""
    text = "\n".join([source_sha256, series_sha256, *flags])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache
def planned_key(source: str | None, series: Path = SERIES) -> str:
    """The key that the build of ``source`` will have: a tarball, a .dsc or a folder.

    Without a source it stands for the build that there is, or else for Debian's source package. Raises
    InputError when the source or the series cannot be read.
    """
    if source is None:
        content = FROM_DEBIAN
    elif not source:
        raise InputError("is empty", key="tor_source", accepted="a tarball, a .dsc or a folder")
    else:
        # A folder for downloads is of no use: nothing is fetched where a source is given.
        content = find_release(Path(source), Path()).sha256
    return build_key(content, read_series(series).sha256, configure_flags(tests=False))
