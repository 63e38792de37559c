"""tor from its release source: fetched, verified, patched and built, one binary for every variant."""

from pathlib import Path

TOOLS = Path("results/tools/tor")
"""Where builds of tor are kept."""

DOWNLOADS = TOOLS / "downloads"
"""Where Debian's source of tor is kept."""

ARTI_PREFIX = "arti-"
"""Begins the version of a build of Arti, as that of a build of tor begins with a digit."""


def is_arti(version: str) -> bool:
    """Whether ``version`` is that of a build of Arti."""
    return version.startswith(ARTI_PREFIX)
