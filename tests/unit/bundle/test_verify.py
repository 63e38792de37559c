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

from tests.stamped import stamp
from tests.synthetic import record_tables
from torsweep.bundle.description import sums_text
from torsweep.bundle.verify import check_files, opened
from torsweep.errors import InputError

SUMMARIES = 16
"""Files of a summary of refill_sweep."""
WHOLE = f"""\
claims: 4 of 4 verdicts are what the tables give
summaries: {SUMMARIES} of {SUMMARIES} are what the tables give
"""


@pytest.fixture
def damaged(published: Path, tmp_path: Path) -> Path:
    """A copy of the published folder, to be damaged."""
    folder = tmp_path / "main"
    shutil.copytree(published, folder)
    return folder


@pytest.mark.parametrize("kind", ["published", "bundle"])
def test_what_is_whole_is_said_to_be(kind: str, torsweep, request: pytest.FixtureRequest) -> None:
    code, said, error = torsweep("verify", request.getfixturevalue(kind))
    assert (code, error) == (0, "")
    first, rest = said.split("\n", 1)
    assert re.fullmatch(r"files: (\d+) of \1 are as they were published", first)
    assert rest == WHOLE


def _found(zip_file: Path) -> bool:
    """Whether the checks of bytes find something; those of claims come only after them."""
    try:
        with opened(zip_file) as (folder, packing):
            return bool(packing.problems or check_files(folder).problems)
    except InputError:
        return True


@settings(max_examples=60)
@given(data=st.data())
def test_a_changed_byte_anywhere_in_a_zip_is_found(
    bundle: Path, tmp_path_factory, data: st.DataObject
) -> None:
    content = bytearray(bundle.read_bytes())
    # Half of the places are in the last 8 KiB, where the zip's own table of its files is.
    start = data.draw(st.sampled_from([0, len(content) - 8192]))
    place = data.draw(st.integers(start, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    file = tmp_path_factory.mktemp("flipped") / "changed.zip"
    file.write_bytes(content)
    assert _found(file)
    file.unlink()


@settings(max_examples=40)
@given(data=st.data())
def test_a_changed_byte_anywhere_in_a_folder_is_found(published: Path, data: st.DataObject) -> None:
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
def test_a_zip_that_is_cut_off_is_one_line(bundle: Path, torsweep, tmp_path: Path, length: int) -> None:
    file = tmp_path / "cut.zip"
    file.write_bytes(bundle.read_bytes()[:length])
    code, _, error = torsweep("verify", file)
    assert code == 2
    assert "cut.zip: is no whole zip" in error
    assert error.count("\n") == 1


def _written(file: Path, name: str, content: bytes = b"x", kind: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(file, "w", kind) as archive:
        archive.writestr(name, content)


@pytest.mark.parametrize(
    "name",
    ["../outside", "/outside", "a/../../outside", "a\\b", "dir/", ".torsweep", "a//b", "x" * 201, "a/" * 200],
)
def test_names_that_lead_elsewhere_are_refused(torsweep, tmp_path: Path, name: str) -> None:
    file = tmp_path / "in" / "evil.zip"
    file.parent.mkdir()
    _written(file, name)
    code, _, error = torsweep("verify", file)
    assert code == 2
    assert "holds no file of a bundle" in error
    assert not (tmp_path / "outside").exists()


def test_what_would_unpack_to_more_than_it_has_is_refused(torsweep, tmp_path: Path) -> None:
    file = tmp_path / "bomb.zip"
    _written(file, "README.md", bytes(10**6), zipfile.ZIP_DEFLATED)
    code, _, error = torsweep("verify", file)
    assert code == 2
    assert "was packed by another program" in error


def test_a_file_that_stands_twice_is_refused(torsweep, tmp_path: Path) -> None:
    file = tmp_path / "twice.zip"
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a", "1")
        archive.writestr("a", "2")
    assert "holds no file of a bundle, got 'a'" in torsweep("verify", file)[2]


def test_a_file_that_is_a_folder_too_is_refused(torsweep, tmp_path: Path) -> None:
    file = tmp_path / "both.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a/b", "1")
        archive.writestr("a", "2")
    code, _, error = torsweep("verify", file)
    assert (code, "holds no file of a bundle, got 'a'" in error) == (2, True)


def test_files_in_another_order_are_found(bundle: Path, torsweep, tmp_path: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        files = [(entry, archive.read(entry)) for entry in archive.infolist()]
    moved = tmp_path / "moved.zip"
    with zipfile.ZipFile(moved, "w") as archive:
        for entry, content in (files[-1], *files[:-1]):
            archive.writestr(entry, content)
    code, said, _ = torsweep("verify", moved)
    assert (code, said.startswith("moved.zip: its files, or the bytes between them")) == (1, True)


def test_something_else_than_a_bundle_is_refused(torsweep, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert "this is no published result" in torsweep("verify", tmp_path / "folder")[2]
    assert "no such file" in torsweep("verify", tmp_path / "nothing.zip")[2]


def test_missing_unknown_and_changed_files_are_named(damaged: Path, torsweep) -> None:
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


def test_a_link_is_no_file_of_a_bundle(damaged: Path, torsweep) -> None:
    (damaged / "link").symlink_to("/etc/passwd")
    assert "link: is a link or a device" in torsweep("verify", damaged)[2]


def _sealed(folder: Path) -> Path:
    """``folder`` with the checksums of what it now holds."""
    stamp(folder / "summaries")
    (folder / "SHA256SUMS").write_text(sums_text(folder))
    return folder


def test_a_verdict_that_the_tables_do_not_give_is_found(damaged: Path, torsweep) -> None:
    file = damaged / "summaries" / "claims.json"
    document = json.loads(file.read_text())
    stated = document["claims"][0]["verdict"]
    document["claims"][0]["verdict"] = "beyond doubt"
    file.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    code, said, _ = torsweep("verify", _sealed(damaged))
    assert code == 1
    assert f"claim web_best_at_10ms: beyond doubt is stated, the tables give {stated}" in said
    assert "claims: 3 of 4 verdicts are what the tables give" in said


def test_a_number_that_the_tables_do_not_give_is_found(damaged: Path, torsweep) -> None:
    file = damaged / "summaries" / "medians.csv"
    file.write_text(file.read_text().replace("ttfb,web", "ttlb,web", 1))
    code, said, _ = torsweep("verify", _sealed(damaged))
    assert code == 1
    assert "summaries/medians.csv: is not what the tables give" in said


def test_other_versions_of_the_libraries_may_give_other_last_digits(damaged: Path, torsweep) -> None:
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


def test_tables_that_are_damaged_and_sealed_again_are_one_line(damaged: Path, torsweep) -> None:
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
def test_a_provenance_that_says_something_else_is_one_line(
    damaged: Path, torsweep, key: str, value: object
) -> None:
    file = damaged / "provenance.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), key: value}))
    code, _, error = torsweep("verify", _sealed(damaged))
    assert code == 2
    assert f"provenance.json: {key}" in error
    assert error.count("\n") == 1


def test_a_rerun_takes_a_checkout(published: Path, torsweep, tmp_path: Path) -> None:
    code, _, error = torsweep("verify", published, "--rerun", "--checkout", tmp_path)
    assert code == 2
    assert "is no checkout of torsweep and no study: no Snakefile in it" in error
