"""Releases: what is verified against what, and what is said when it does not match."""

from __future__ import annotations

import hashlib

import pytest

from torsweep.errors import InputError, ToolMissing
from torsweep.tor import apt
from torsweep.tor.release import find_release, sha256_of_tree, unpack, verified_package


def test_a_source_package_is_verified_file_by_file(package, tarball, tmp_path):
    release = find_release(package, tmp_path / "downloads")
    assert release.path == tarball
    assert release.identity == hashlib.sha256(tarball.read_bytes()).hexdigest()
    assert release.verified_by == "tor_0.4.9.11-1.dsc"


@pytest.mark.parametrize("name", ["tor_0.4.9.11.orig.tar.gz", "tor_0.4.9.11-1.diff.gz"])
def test_a_changed_file_of_a_package_is_named_with_both_checksums(package, name):
    file = package.with_name(name)
    expected = hashlib.sha256(file.read_bytes()).hexdigest()
    file.write_bytes(file.read_bytes() + b"!")
    with pytest.raises(InputError) as raised:
        verified_package(package)
    text = str(raised.value)
    assert text.startswith(f"{file}: wrong checksum")
    assert expected in text and hashlib.sha256(file.read_bytes()).hexdigest() in text
    assert raised.value.exit_code == 2


def test_a_file_missing_from_a_package_is_named(package):
    package.with_name("tor_0.4.9.11-1.diff.gz").unlink()
    with pytest.raises(InputError, match=r"tor_0\.4\.9\.11-1\.diff\.gz, which is not beside it"):
        verified_package(package)


def test_a_description_without_checksums_is_refused(tmp_path):
    file = tmp_path / "tor.dsc"
    file.write_text("Format: 1.0\n")
    with pytest.raises(InputError, match="names no release tarball"):
        verified_package(file)


def test_a_tarball_is_checked_against_the_checksum_given(tarball, tmp_path):
    good = hashlib.sha256(tarball.read_bytes()).hexdigest()
    assert find_release(tarball, tmp_path, good.upper()).verified_by == "the checksum given"
    with pytest.raises(InputError, match="wrong checksum"):
        find_release(tarball, tmp_path, "0" * 64)


def test_a_tarball_is_checked_against_the_checksum_beside_it(tarball, tmp_path):
    beside = tarball.with_name(f"{tarball.name}.sha256sum")
    beside.write_text(f"{hashlib.sha256(tarball.read_bytes()).hexdigest()}  {tarball.name}\n")
    assert find_release(tarball, tmp_path).verified_by == beside.name
    beside.write_text(f"{'f' * 64}  {tarball.name}\n")
    with pytest.raises(InputError, match="wrong checksum"):
        find_release(tarball, tmp_path)


def test_a_tarball_without_a_checksum_says_so(tarball, tmp_path):
    assert find_release(tarball, tmp_path).verified_by.startswith("nothing: ")


def test_tarball_and_folder_unpack_to_the_same_tree(tarball, tree, tmp_path):
    for name, source in (("from-tarball", tarball), ("from-folder", tree)):
        assert unpack(find_release(source, tmp_path), tmp_path / name) == "0.4.9.11"
    assert sha256_of_tree(tmp_path / "from-tarball") == sha256_of_tree(tmp_path / "from-folder")


def test_a_folder_that_has_been_built_in_counts_as_its_source(tree, tmp_path):
    before = sha256_of_tree(tree)
    (tree / "src" / "clock.o").write_bytes(b"object")
    (tree / "config.status").write_text("built here")
    assert sha256_of_tree(tree) == before
    unpack(find_release(tree, tmp_path), tmp_path / "copy")
    assert not (tmp_path / "copy" / "config.status").exists()


def test_another_program_is_refused(tree, tmp_path):
    (tree / "configure").write_text("PACKAGE_NAME='vidalia'\nPACKAGE_VERSION='1'\n")
    with pytest.raises(InputError, match="is no source of tor"):
        unpack(find_release(tree, tmp_path), tmp_path / "copy")


def test_a_broken_tarball_is_named(tarball, tmp_path):
    tarball.write_bytes(tarball.read_bytes()[:100])
    with pytest.raises(InputError, match="cannot be unpacked"):
        unpack(find_release(tarball, tmp_path), tmp_path / "copy")


@pytest.mark.parametrize("name", ["missing.tar.gz", "folder"])
def test_a_source_that_is_none_is_named(tmp_path, name):
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=name):
        find_release(tmp_path / name, tmp_path)


def test_without_apt_the_message_names_the_other_ways(monkeypatch, tmp_path):
    monkeypatch.setattr(apt.shutil, "which", lambda program: None)
    with pytest.raises(ToolMissing, match=r"--source PATH, or --config tor_source=PATH") as raised:
        find_release(None, tmp_path / "tools" / "downloads")
    assert raised.value.exit_code == 3
