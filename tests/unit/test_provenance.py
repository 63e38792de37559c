"""Provenance tells how a result was made, and neither where nor by whom."""

from __future__ import annotations

import getpass
import platform
import socket

import pytest

from tests.stand_ins import executable
from torsweep import __version__
from torsweep.provenance import machine, program_version, versions


def test_versions_name_the_package_python_and_the_numerical_libraries():
    found = versions()
    assert found["torsweep"] == __version__
    assert found["python"] == platform.python_version()
    assert {"numpy", "scipy", "polars", "matplotlib"} <= set(found)


def test_the_machine_is_described_in_units_and_without_names():
    found = machine()
    assert found["cores"] >= 1
    assert found["memory_bytes"] > 10**8
    assert not {socket.gethostname(), getpass.getuser()} & {str(value) for value in found.values()}


@pytest.mark.parametrize(
    ("script", "version"),
    [("echo 'cellsim 1.2.3'", "1.2.3"), ("exit 1", None), ("true", None)],
)
def test_an_engines_version_is_the_last_word_it_prints(tmp_path, monkeypatch, script, version):
    executable(tmp_path / "someengine", f"#!/bin/sh\n{script}\n")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert program_version("someengine") == version
    assert program_version("no-such-engine") is None
