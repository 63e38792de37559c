"""The rows of a summary over scales, as tables of the experiment's README.

    python -m bench.scale_rows results/summaries/scale/…/main docs/tables/scale.csv

In: scale_contrasts.csv, scale_trends.csv and scale_times.csv of a plan. Out: a CSV file with a row for each
contrast of web clients and each thing to say of it (``what``): the ``effect`` as a ratio with its 95 %
interval, the ``spread`` between networks, and the ``networks`` that an interval of ± 5 % takes; and rows of
``time``, the seconds of each variant. ``contrast`` names the contrast or the variant, ``time`` the quantile;
the scales are the columns ``at_0_003`` and so on, and ``trend`` says how it changes over all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from bench.writing import write_rows
from plotting.drawing.palette import level_name
from torsweep.stats.streams.scaling import SCALE, SCALE_CONTRASTS, SCALE_TIMES, SCALE_TRENDS

KIND = "web"
TIMES = {
    ("ttfb", "median"): "first byte, median",
    ("ttlb", "median"): "last byte, median",
    ("ttlb", "p90"): "last byte, 90th percentile",
    ("ttlb", "p99"): "last byte, 99th percentile",
}
_WHAT = ["knob", "at", "from", "to", "metric", "estimand"]


def rows(contrasts: pl.DataFrame, trends: pl.DataFrame, times: pl.DataFrame) -> pl.DataFrame:
    """The rows, in the order of contrasts and times."""
    of_kind = [frame.filter(kind=KIND) for frame in (contrasts, trends, times)]
    found = [*_contrasts(*of_kind[:2]), *_times(of_kind[2])]
    return pl.DataFrame(found, infer_schema_length=None)


def _contrasts(contrasts: pl.DataFrame, trends: pl.DataFrame) -> Iterator[dict[str, object]]:
    changes = {tuple(row[name] for name in _WHAT): row for row in trends.iter_rows(named=True)}
    for key, own in contrasts.group_by(_WHAT, maintain_order=True):
        _, at, one, other, metric, estimand = (str(each or "") for each in key)
        if (metric, estimand) not in TIMES:
            continue
        by_scale, trend = {row[SCALE]: row for row in own.iter_rows(named=True)}, changes.get(key)
        held = f", {level_name(at)}" if at else ""
        contrast = f"{level_name(one)} → {level_name(other)}{held}"
        head = {"contrast": contrast, "time": TIMES[metric, estimand]}
        for what, cell, change in (
            ("effect", _effect, _ratio(trend, "tenfold", "× {:.2f}", "{:.2f}")),
            ("spread", _spread, _ratio(trend, "spread_exponent", "{:.2f}", "{:.2f}")),
            ("networks", _networks, ""),
        ):
            cells = {_column(scale): cell(row) for scale, row in by_scale.items()}
            yield {"what": what, **head, **cells, "trend": change}


def _times(times: pl.DataFrame) -> Iterator[dict[str, object]]:
    knobs = times.columns[2 : times.columns.index("estimand")]
    others = [knob for knob in knobs if knob != SCALE]
    for key, own in times.group_by([*others, "metric", "estimand"], maintain_order=True):
        *levels, metric, estimand = map(str, key)
        if (metric, estimand) in TIMES:
            cells = {
                _column(row[SCALE]): _ratio(row, "time_s", "{:.2f}") for row in own.iter_rows(named=True)
            }
            variant = ", ".join(map(level_name, levels))
            yield {"what": "time", "contrast": variant, "time": TIMES[metric, estimand], **cells, "trend": ""}


def _column(scale: str) -> str:
    return f"at_{scale.replace('.', '_')}"


def _ratio(row: Mapping[str, float | None] | None, name: str, mean: str, ends: str = "{:.2f}") -> str:
    if row is None or row[name] is None:
        return "–"
    text = mean.format(row[name])
    if row[f"{name}_low"] is not None:
        text += f" [{ends.format(row[f'{name}_low'])}, {ends.format(row[f'{name}_high'])}]"
    return text.replace("-", "−")


def _effect(row: Mapping[str, float | None]) -> str:
    return _ratio(row, "ratio", "× {:.2f}")


def _spread(row: Mapping[str, float | None]) -> str:
    return "–" if row["spread"] is None else f"{100 * row['spread']:.1f} % ({row['networks']})"


def _networks(row: Mapping[str, float | None]) -> str:
    return "–" if row["networks_for_margin"] is None else f"{row['networks_for_margin']}"


def main() -> None:
    """Write the table."""

    def read(summary: Path) -> pl.DataFrame:
        return rows(*(each.read(summary) for each in (SCALE_CONTRASTS, SCALE_TRENDS, SCALE_TIMES)))

    write_rows("the summary of a plan", read)


if __name__ == "__main__":
    main()
