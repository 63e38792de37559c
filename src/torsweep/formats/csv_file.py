"""CSV tables, plain or packed.

In: a path and the types of its columns. Out: a frame.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from torsweep.errors import InputError
from torsweep.formats.files import require_regular
from torsweep.formats.text import unpacked


def read_csv(
    file: Path, texts: Iterable[str] | None, numbers: Iterable[str] = (), missing: str = "no such file"
) -> pl.DataFrame:
    """The table in ``file``: ``texts`` are its columns of text (None: all are), ``numbers`` of real numbers.

    Columns of either that it does not have are passed over. Raises InputError when it is no such table.
    """
    require_regular(file, missing)
    types = {**dict.fromkeys(numbers, pl.Float64), **dict.fromkeys(texts or (), pl.String)}
    rows_to_guess_from = None if texts is not None else 0
    try:
        with unpacked(file) as opened:
            return pl.read_csv(opened.read(), schema_overrides=types, infer_schema_length=rows_to_guess_from)
    except pl.exceptions.NoDataError:
        raise InputError("is empty", file=file, accepted="a CSV table") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        first = str(error).splitlines()[0] if str(error) else "damaged"
        raise InputError(f"is no CSV table: {first}", file=file) from None
