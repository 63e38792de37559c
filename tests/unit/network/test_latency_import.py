"""The importer of latencies, on small matrices."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from torsweep.errors import InputError
from torsweep.network.cli import latency_app
from torsweep.network.latency import MODEL_FILE, read_measured, write_measured
from torsweep.network.latency_import import IMPORT_FILE, import_latency, read_latencies
from torsweep.network.model import LATENCY_FLOOR_US
from torsweep.network.sampling import sample_network


def matrix_text(matrix: np.ndarray, separator: str = " ") -> str:
    return "\n".join(separator.join(f"{cell:.0f}" for cell in row) for row in matrix) + "\n"


@pytest.mark.parametrize("separator", [" ", "\t", ", "])
def test_a_plain_matrix_is_read_in_its_unit(tmp_path, rtt_matrix_ms, separator):
    file = tmp_path / "matrix"
    file.write_text(matrix_text(rtt_matrix_ms * 1000, separator))
    found = read_latencies(file, "us")
    assert np.isnan(np.diag(found)).all()
    above = np.triu_indices(40, 1)
    assert found[above] == pytest.approx(rtt_matrix_ms[above] * 1000, abs=1)


def test_an_import_prints_its_statistics_and_is_used_as_it_is(tmp_path, rtt_matrix_ms, configured):
    file, out = tmp_path / "king", tmp_path / "out"
    rtt_matrix_ms[3, 5] = rtt_matrix_ms[5, 3] = 0
    file.write_text(matrix_text(rtt_matrix_ms * 1000))
    arguments = [str(file), "--unit", "us", "--out", str(out)]
    said = CliRunner().invoke(latency_app, arguments)
    assert said.exit_code == 0
    for word in ("hosts: 40", "median RTT: ", "asymmetry: 0.0 %", "missing: 0.13 %"):
        assert word in said.stdout
    recorded = json.loads((out / IMPORT_FILE).read_text())
    assert recorded["source"]["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    measured = read_measured(out / MODEL_FILE)
    assert measured[0, 1] == pytest.approx(rtt_matrix_ms[0, 1] * 1000, abs=1)
    over_others = (rtt_matrix_ms[3] + rtt_matrix_ms[5])[[host for host in range(40) if host not in (3, 5)]]
    assert measured[3, 5] == measured[5, 3] == pytest.approx(1000 * over_others.min(), abs=2)
    latency = {"file": str(out), "use": "direct"}
    matrix = sample_network(configured(latency=latency), 1).matrix_us
    between = np.triu_indices(40, 1)
    assert (matrix[between] == measured[between]).all()
    nearest = np.where(np.eye(40, dtype=bool), np.iinfo(np.int32).max, matrix).min(axis=1)
    assert (np.diag(matrix) == np.maximum(nearest, LATENCY_FLOOR_US)).all()
    with pytest.raises(InputError, match=r"latency\.use: holds no coordinate model; accepted: direct"):
        sample_network(configured(latency={"file": str(out)}), 1)
    crowded = sample_network(configured(servers=99, latency=latency), 1)
    assert {host.place for host in crowded.network.hosts} <= set(range(40))


def test_places_without_a_round_trip_are_refused(tmp_path, rtt_matrix_ms):
    file, out = tmp_path / "matrix", tmp_path / "out"
    file.write_text(matrix_text(rtt_matrix_ms))
    import_latency(file, "ms", out)
    table = out / MODEL_FILE
    for rtt_us in (0, -5):
        measured = read_measured(table)
        measured[3, 5] = measured[5, 3] = rtt_us
        write_measured(measured, tmp_path / "damaged.npz")
        with pytest.raises(InputError, match=rf"npz: \[3, 5\]: two places have no round trip, got {rtt_us};"):
            read_measured(tmp_path / "damaged.npz")
    rtt_matrix_ms[7] = rtt_matrix_ms[:, 7] = 0
    file.write_text(matrix_text(rtt_matrix_ms))
    with pytest.raises(InputError, match="a host has no RTT to any other, got 'host 8'"):
        import_latency(file, "ms", out)


def test_one_way_delays_are_doubled(tmp_path, rtt_matrix_ms):
    file = tmp_path / "delays"
    file.write_text(matrix_text(rtt_matrix_ms * 1000))
    import_latency(file, "us", tmp_path / "out", one_way=True)
    measured = read_measured(tmp_path / "out" / MODEL_FILE)
    assert measured[0, 1] == pytest.approx(2_000 * rtt_matrix_ms[0, 1], abs=2)
    file.write_text("0 31\n31 0\n")
    with pytest.raises(InputError, match="line 1, column 2: is no RTT, got '31'; accepted: 0 to 30 s;"):
        import_latency(file, "s", tmp_path / "out", one_way=True)


def test_a_derived_model_has_no_matrix_to_draw_from(configured):
    with pytest.raises(InputError, match="holds no measured matrix"):
        sample_network(configured(latency={"name": "planetlab", "use": "direct"}), 1)


ROW = "0 9 8\n9 0 7\n8 7 0\n"
WIDE = "0 7 7 7 7 7 7 7\n" * 8


def _csv(matrix: np.ndarray, *, numbered: bool) -> str:
    """The matrix as pandas writes it without a header: the diagonal is empty, rows may be numbered."""
    frame = pd.DataFrame(np.where(np.eye(len(matrix), dtype=bool), np.nan, matrix))
    return frame.to_csv(header=False, index=numbered)


def test_an_empty_cell_is_no_measurement(tmp_path, rtt_matrix_ms):
    files = {name: tmp_path / name for name in ("empty.csv", "tabs.tsv", "ends.csv")}
    rtt_matrix_ms[3, 5] = np.nan
    text = _csv(rtt_matrix_ms, numbered=False)
    files["empty.csv"].write_text(text)
    files["tabs.tsv"].write_text(text.replace(",", "\t"))
    files["ends.csv"].write_text(text.replace("\n", ",\n"))
    for file in files.values():
        rtt_us = read_latencies(file, "ms")
        assert np.isnan(rtt_us[3, 5]) and np.isnan(np.diag(rtt_us)).all()
        assert rtt_us[5, 3] == pytest.approx(rtt_matrix_ms[5, 3] * 1000)


def test_a_column_of_row_numbers_is_refused(tmp_path, rtt_matrix_ms):
    file = tmp_path / "numbered.csv"
    file.write_text(_csv(rtt_matrix_ms, numbered=True))
    with pytest.raises(InputError, match=r"40 rows of 41 cells.*the first column counts the rows"):
        read_latencies(file, "ms")


@pytest.mark.parametrize(
    ("unit", "text", "said"),
    [
        ("ms", "", "is empty"),
        ("ms", "0 1 2\n1 0 3\n", "not square, got '2 rows of 3 cells'"),
        ("ms", "0 1 2\n1 0\n2 3 0\n", "line 2: is cut off or too long, got '2 cells"),
        ("ms", ROW.replace("7", "nan"), "line 2, column 3: is no RTT"),
        ("ms", ROW.replace("7", "inf"), "line 2, column 3: is no RTT"),
        ("ms", ROW.replace("7", "-7"), "line 2, column 3: is no RTT"),
        ("ms", WIDE.replace("7", "1e308"), "line 1, column 2: is no RTT, got '1e308'"),
        ("ms", ROW.replace("7", "far"), "line 2, column 3: is no RTT, got 'far'"),
        ("us", WIDE, "the median RTT is not one of the Internet's"),
        ("ms", WIDE.replace("7", "10000"), "median RTT is not one"),
        ("ms", WIDE.replace("7", "0"), "hardly any pair"),
        ("ms", "0 9\n9 0\n", "every RTT is the same"),
        ("ms", "0\n", "has no RTT to any other"),
        ("min", ROW, "no such unit"),
    ],
)
def test_bad_latencies_are_refused(tmp_path, unit, text, said):
    file = tmp_path / "latencies"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        import_latency(file, unit, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_cells_that_semicolons_separate_are_named_as_such(tmp_path):
    """As spreadsheets write them where the comma is in numbers."""
    file = tmp_path / "matrix.csv"
    file.write_text("0;10,5\n11;0\n")
    with pytest.raises(InputError, match="is no RTT, got '0;10'; accepted: commas or tabs between cells"):
        read_latencies(file, "ms")
