"""Where torsweep is, and where the files of a study are found.

In: a path such as ``experiments/refill_sweep``, as it is written from the top of the checkout. Out: the file
or folder of that path in the working directory, which is the checkout or a study of the user's own; what a
study lacks is found in the checkout. A wheel carries the same files in the folder ``shipped`` of the package,
which in the checkout holds links to them that maturin follows.
"""

from __future__ import annotations

from pathlib import Path

import torsweep

_PACKAGE = Path(torsweep.__file__).absolute().parent

SHIPPED = _PACKAGE / "shipped"
"""What studies find of the checkout, as a wheel carries it."""

CHECKOUT = _PACKAGE.parents[1] if (_PACKAGE.parents[1] / "Snakefile").is_file() else SHIPPED
"""The folder of the checkout that this torsweep runs from; of an installed one, what it carries."""


def find(path: str | Path) -> Path:
    """``path`` below the working directory if it is there, else below the checkout.

    A path that neither has comes back as it is: the caller says what is missing.
    """
    relative = Path(path)
    if relative.exists() or not (CHECKOUT / relative).exists():
        return relative
    return CHECKOUT / relative


def find_all(folder: str | Path, pattern: str) -> list[Path]:
    """The files of ``folder`` that fit ``pattern``, in the working directory and the checkout, in order.

    Of two files with the same name below ``folder``, the one in the working directory counts.
    """
    places = (CHECKOUT / folder, Path(folder))
    files = {file.relative_to(place): file for place in places for file in place.glob(pattern)}
    return [files[name] for name in sorted(files)]


def shown(path: str | Path) -> str:
    """``path`` as it is written from the top of the checkout where it lies below it; any other as it is.

    What is recorded of a file that ships is the same in every study and on every machine.
    """
    whole = Path(path)
    return str(whole.relative_to(CHECKOUT)) if whole.is_relative_to(CHECKOUT) else str(whole)
