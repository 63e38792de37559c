"""Where studies are kept if no folder is named, and what one study takes from another.

In: the working directory and the checkout. Out: paths.
"""

from __future__ import annotations

from pathlib import Path

from torsweep.home import CHECKOUT
from torsweep.tor import TOOLS

STUDIES = Path("torsweep-studies")

PACKAGE = TOOLS / "downloads/package"
"""Debian's source package, below a study or the checkout."""


def debian_package() -> Path | None:
    """The description (.dsc) of Debian's package that an earlier build fetched; None where there is none."""
    for folder in (*sorted(STUDIES.glob("*/")), CHECKOUT):
        for description in sorted((folder / PACKAGE).glob("tor_*.dsc")):
            return description
    return None
