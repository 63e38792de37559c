"""The table of what sizes cost is built in parts: a row replaces that of the same size, others stay."""

from __future__ import annotations

import csv

from bench.scale import COLUMNS, KEY, merged
from bench.writing import csv_text


def row(size, cpu_s):
    key = dict(zip(KEY, ("paper", size, "today"), strict=True))
    return dict.fromkeys(COLUMNS, 1) | key | {"cpu_s": cpu_s}


def test_a_size_measured_again_replaces_its_row_and_no_other(tmp_path):
    out = tmp_path / "scale.csv"
    out.write_text(csv_text(COLUMNS, merged(out, [row(100.0, 9.0), row(1.0, 0.123456789)])), encoding="utf-8")
    out.write_text(csv_text(COLUMNS, merged(out, [row(100.0, 7.5), row(10.0, 3.0)])), encoding="utf-8")
    with out.open(encoding="utf-8", newline="") as file:
        found = [(line["size"], line["cpu_s"]) for line in csv.DictReader(file)]
    assert found == [("1", "0.123457"), ("10", "3"), ("100", "7.5")]
