"""What is compared of two imports: a number for each network, by import.

In: two imports and the warm-up. Out: the downloads of perf clients in the columns of a plan's statistics,
with the name of the import as the only knob, and :class:`Measure`: medians of times, goodput, circuit build
times, the share that failed, and what all relays wrote.

Times count from the request, as in tornettools and in Tor's own measurements. Goodput is that of the last
half of 1 MiB and of the last fifth of 5 MiB. Simulations of the same network count as one: their downloads
are put together. Downloads from onion services are left out, and so are, from the share that failed, those
that the end cut off: parsed files do not have them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from torsweep.config.traffic import KIND_NAMES, PERF_KINDS
from torsweep.engines.table_schema import CIRCUITS, RELAYS, STREAMS, TableSchema
from torsweep.errors import InputError
from torsweep.formats.files import KIB
from torsweep.imports.stored import Import
from torsweep.stats.measures.downloads import goodput
from torsweep.stats.streams.incidence import STREAM_COLUMNS
from torsweep.stats.streams.medians import run_quantiles

KNOB = "import"
"""The knob whose levels are the imports."""

TIMES = {"ttfb_after_command": "first byte", "ttlb_after_command": "last byte"}

RELATIVE_MARGIN, SHARE_MARGIN = 0.05, 0.01
"""A difference smaller than that is none: of a ratio, and of a share."""

_PERF = r"^perfclient\d+(exit)?$"
_GOODPUT_SINCE = {"perf_1mib": ("half_us", 0.5), "perf_5mib": ("most_us", 0.2)}


@dataclass(frozen=True)
class Measure:
    """A number for each network that has one: ``values`` has the columns import, seed and value.

    Differences of the ``relative`` ones are ratios; of the others, differences.
    """

    name: str
    values: pl.DataFrame
    relative: bool = True

    @property
    def margin(self) -> float:
        """The difference below which there is none."""
        return RELATIVE_MARGIN if self.relative else SHARE_MARGIN

    def of(self, name: str) -> dict[int, float]:
        """The number of each network of the import ``name``."""
        chosen = self.values.filter(pl.col(KNOB).cast(pl.String) == name)
        return dict(chosen.select("seed", "value").drop_nulls().iter_rows())


@dataclass(frozen=True)
class Compared:
    """Two imports, the baseline first; ``numbers`` gives the number of each network by import and run."""

    imports: tuple[Import, Import]
    numbers: dict[tuple[str, str], int]
    warm_up_us: int

    @property
    def names(self) -> list[str]:
        """What the two are called."""
        return [each.name for each in self.imports]

    def networks(self, name: str) -> list[int]:
        """The numbers of the networks of the import ``name``."""
        return sorted({number for (own, _), number in self.numbers.items() if own == name})

    def rows(self, schema: TableSchema) -> pl.DataFrame:
        """The table of all runs below each other, with the columns import, seed (number of the network) and
        run."""
        names = pl.Enum(self.names)
        return pl.concat(
            each.table(run, schema).with_columns(
                pl.lit(each.name, names).alias(KNOB),
                pl.lit(self.numbers[each.name, run.folder], pl.Int64).alias("seed"),
                pl.lit(run.folder).alias("run"),
            )
            for each in self.imports
            for run in each.runs
        )


def compared(baseline: Import, candidate: Import, warm_up_us: int) -> Compared:
    """The two imports with their networks numbered from 1, the same network alike.

    Raises InputError when both have one name.
    """
    if baseline.name == candidate.name:
        raise InputError("is the name of both imports", file=candidate.folder, accepted="another --as NAME")
    known: dict[object, int] = {}
    numbers = {
        (each.name, run.folder): known.setdefault(run.network or (each.name, run.folder), len(known) + 1)
        for each in (baseline, candidate)
        for run in each.runs
    }
    return Compared((baseline, candidate), numbers, warm_up_us)


def downloads_of(both: Compared) -> pl.DataFrame:
    """The downloads of perf clients that started after the warm-up; InputError when an import has none."""
    columns = [*dict.fromkeys((*STREAM_COLUMNS, "half_us", "most_us", "last_byte_us", "bytes_wanted"))]
    found = (
        both.rows(STREAMS)
        .filter(pl.col("start_us") >= both.warm_up_us, pl.col("kind").is_in(PERF_KINDS))
        .select(KNOB, "seed", *columns)
        .with_columns(pl.col("kind").cast(pl.Enum(PERF_KINDS)))
    )
    for each in both.imports:
        if each.name not in found[KNOB].unique():
            raise InputError(
                "has no download of a perf client that started after the warm-up",
                file=each.folder,
                key="--warm-up",
                value=f"{both.warm_up_us / 1e6:g} s",
                accepted="a shorter time",
            )
    return found


def measures(both: Compared, downloads: pl.DataFrame) -> Iterator[Measure]:
    """Every measure that both imports have numbers of."""
    yield from _times(downloads)
    for kind, (since, share) in _GOODPUT_SINCE.items():
        yield _goodput(downloads.filter(pl.col("kind") == kind), KIND_NAMES[kind], since, share)
    yield _circuits(both)
    ended = downloads.filter(pl.col("outcome") != "unfinished")
    failed = pl.col("outcome").is_in(["failed", "timeout"]).mean()
    yield Measure("failed downloads (points)", _each(ended, failed), relative=False)
    yield _relays(both)


def _each(rows: pl.DataFrame, value: pl.Expr) -> pl.DataFrame:
    return rows.group_by(KNOB, "seed").agg(value=value).sort(KNOB, "seed")


def _times(downloads: pl.DataFrame) -> Iterator[Measure]:
    medians = run_quantiles(downloads, [KNOB])
    for kind in PERF_KINDS:
        for metric, name in TIMES.items():
            own = medians.filter(pl.col("kind") == kind, pl.col("metric") == metric)
            yield Measure(f"{KIND_NAMES[kind]}, {name}", own.select(KNOB, "seed", value="median_s"))


def _goodput(downloads: pl.DataFrame, size: str, since: str, share: float) -> Measure:
    return Measure(f"{size}, goodput (bytes/s)", _each(downloads, goodput(since, share).median() * KIB))


def _circuits(both: Compared) -> Measure:
    took_s = (pl.col("built_us") - pl.col("launched_us")) / 1e6
    built = both.rows(CIRCUITS).filter(
        pl.col("client").str.contains(_PERF), pl.col("launched_us") >= both.warm_up_us, took_s.is_not_null()
    )
    return Measure("circuit build time (s)", _each(built, took_s.median()))


def _relays(both: Compared) -> Measure:
    """Bytes that all relays wrote in a second."""
    measured = both.rows(RELAYS).filter(pl.col("second") >= both.warm_up_us // 1_000_000)
    rate = pl.col("bytes_out").sum() / pl.struct("second", "run").n_unique()
    return Measure("bytes that relays wrote", _each(measured, rate))
