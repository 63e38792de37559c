"""``torsweep verify``: what is whole is said to be, and a changed byte is found wherever it is."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.published_plan import copied
from tests.stamped import stamp
from tests.synthetic import record_tables, with_perf_clients
from torsweep.bundle.description import sums_text
from torsweep.bundle.verify import check_files
from torsweep.errors import InputError
from torsweep.runsets.reading import PlanTables
from torsweep.stats.summarize import summarize, write_summary

SUMMARIES = 18
"""Files of a summary of refill_sweep."""
WHOLE = f"""\
claims: 16 of 16 verdicts are what the tables give
summaries: {SUMMARIES} of {SUMMARIES} are what the tables give
"""


@pytest.fixture
def damaged(published: Path, tmp_path: Path) -> Path:
    """A copy of the published folder, to be damaged."""
    folder = tmp_path / "main"
    shutil.copytree(published, folder)
    return folder


@pytest.mark.parametrize("kind", ["published", "bundle"])
def test_what_is_whole_is_said_to_be(kind, torsweep, request):
    code, said, error = torsweep("verify", request.getfixturevalue(kind))
    assert (code, error) == (0, "")
    first, rest = said.split("\n", 1)
    assert re.fullmatch(r"files: (\d+) of \1 are as they were published", first)
    assert rest == WHOLE


def test_a_changed_byte_of_a_file_in_a_zip_is_found(bundle, torsweep, tmp_path):
    content = bytearray(bundle.read_bytes())
    with zipfile.ZipFile(bundle) as archive:
        largest = max(archive.infolist(), key=lambda member: member.compress_size)
    content[largest.header_offset + largest.compress_size // 2] ^= 1
    changed = tmp_path / "changed.zip"
    changed.write_bytes(content)
    code, _, error = torsweep("verify", changed)
    assert (code, error.count("\n")) == (2, 1)
    assert "changed.zip: is no whole zip: " in error


@settings(max_examples=40)
@given(data=st.data())
def test_a_changed_byte_anywhere_in_a_folder_is_found(published, data):
    files = sorted(file for file in published.rglob("*") if file.is_file() and file.name != ".torsweep")
    file = data.draw(st.sampled_from(files))
    whole = file.read_bytes()
    content = bytearray(whole)
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    file.write_bytes(content)
    try:
        assert check_files(published).problems
    except InputError as error:
        assert file.name == "SHA256SUMS", error
    finally:
        file.write_bytes(whole)


@pytest.mark.parametrize("length", [0, 1, 100, -1, -100])
def test_a_zip_that_is_cut_off_is_one_line(bundle, torsweep, tmp_path, length):
    file = tmp_path / "cut.zip"
    file.write_bytes(bundle.read_bytes()[:length])
    code, _, error = torsweep("verify", file)
    assert code == 2
    assert "cut.zip: is no whole zip" in error
    assert error.count("\n") == 1


def test_something_else_than_a_bundle_is_refused(torsweep, tmp_path):
    (tmp_path / "folder").mkdir()
    assert "this is no published result" in torsweep("verify", tmp_path / "folder")[2]
    assert "no such file" in torsweep("verify", tmp_path / "nothing.zip")[2]


def test_missing_unknown_and_changed_files_are_named(damaged, torsweep):
    (damaged / "figures" / "ttfb_cdf.pdf").unlink()
    (damaged / "figures" / "notes.txt").write_text("mine")
    (damaged / "report.html").write_text("all is well")
    code, said, error = torsweep("verify", damaged)
    assert code == 1
    *problems, last = said.splitlines()
    assert problems == [
        "figures/ttfb_cdf.pdf: is missing",
        "figures/notes.txt: is not in SHA256SUMS",
        "report.html: has changed: its SHA-256 is not the one in SHA256SUMS",
    ]
    right, of = map(int, re.fullmatch(r"files: (\d+) of (\d+) are as they were published", last).groups())
    assert of == right + 2
    assert error.endswith("3 problems\n")


def _sealed(folder: Path) -> Path:
    """``folder`` with the checksums of what it now holds."""
    stamp(folder / "summaries")
    (folder / "SHA256SUMS").write_text(sums_text(folder))
    return folder


def test_a_verdict_that_the_tables_do_not_give_is_found(damaged, torsweep):
    file = damaged / "summaries" / "claims.json"
    document = json.loads(file.read_text())
    stated = document["claims"][0]["verdict"]
    document["claims"][0]["verdict"] = "beyond doubt"
    file.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    code, said, _ = torsweep("verify", _sealed(damaged))
    assert code == 1
    assert f"claim web_best_at_10ms median download: beyond doubt is stated, the tables give {stated}" in said
    assert "claims: 15 of 16 verdicts are what the tables give" in said


def test_a_summary_beside_ones_own_file_of_public_tor_is_whole(plan, torsweep, tmp_path):
    own = copied(plan, tmp_path / "plan")
    tables = with_perf_clients(PlanTables.open(plan.stage("tables")), own.stage("tables"))
    file = tmp_path / "tor_metrics.json"
    file.write_text(json.dumps({"download_times": {"5242880": [1 / 3, 8]}, "daily_counts": {}}))
    write_summary(summarize(tables, own.experiment, file), own.stage("summaries"))
    file.unlink()
    for command in (own.report(), own.publish(tmp_path / "out")):
        assert torsweep(*command)[0] == 0
    code, said, _ = torsweep("verify", tmp_path / "out")
    assert (code, said.count("are what the tables give")) == (0, 2)
    assert "live_tor=tor_metrics.json" in own.page.read_text()
    assert "live_tor=summaries/public.csv" in (tmp_path / "out" / "README.md").read_text()


def test_a_number_that_the_tables_do_not_give_is_found(damaged, torsweep):
    file = damaged / "summaries" / "medians.csv"
    file.write_text(file.read_text().replace("ttfb,web", "ttlb,web", 1))
    code, said, _ = torsweep("verify", _sealed(damaged))
    assert code == 1
    assert "summaries/medians.csv: is not what the tables give" in said


def test_other_versions_of_the_libraries_may_give_other_last_digits(damaged, torsweep):
    file = damaged / "summaries" / "medians.csv"
    file.write_text(file.read_text() + "\n")
    file = damaged / "provenance.json"
    document = json.loads(file.read_text())
    document["published_with"]["versions"]["polars"] = "0.1"
    file.write_text(json.dumps(document))
    code, said, _ = torsweep("verify", _sealed(damaged))
    assert code == 0
    assert (
        f"{SUMMARIES - 2} of {SUMMARIES} are what the tables give; the others may differ in last digits"
        in said
    )
    assert "(polars 0.1 then, " in said


def test_tables_that_are_damaged_and_sealed_again_are_one_line(damaged, torsweep):
    (damaged / "tables" / "streams.parquet").write_bytes(b"PAR1")
    record_tables(damaged / "tables")
    code, _, error = torsweep("verify", _sealed(damaged))
    assert code == 2
    assert "streams.parquet" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("key", "value"),
    [("experiment", "../elsewhere"), ("experiment", 7), ("settings", [1]), ("published_with", "polars")],
)
def test_a_provenance_that_says_something_else_is_one_line(damaged, torsweep, key, value):
    file = damaged / "provenance.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), key: value}))
    code, _, error = torsweep("verify", _sealed(damaged))
    assert code == 2
    assert f"provenance.json: {key}" in error
    assert error.count("\n") == 1
