"""Work that takes long says so; what is done at once says nothing."""

from __future__ import annotations

import contextlib
import time

import pytest

from torsweep.network import cli
from torsweep.network.cli import told_while_it_lasts


def test_a_line_comes_at_the_end_of_each_pause(capsys, monkeypatch):
    monkeypatch.setattr(cli, "FIRST_S", 0.001)
    monkeypatch.setattr(cli, "EVERY_S", 0.001)
    with told_while_it_lasts("reading rtts.txt"):
        time.sleep(0.3)
    said = capsys.readouterr().err.splitlines()
    assert len(said) > 1
    assert set(said) == {"reading rtts.txt: 0 s so far"}


def test_what_is_done_at_once_says_nothing(capsys):
    with told_while_it_lasts("reading rtts.txt"):
        pass
    assert capsys.readouterr().err == ""


def test_an_error_passes_through(capsys):
    with pytest.raises(ValueError, match="wrong"), told_while_it_lasts("reading rtts.txt"):
        raise ValueError("wrong")


def test_imports_are_told(monkeypatch, tmp_path):
    from torsweep.cli import main

    doing = []

    @contextlib.contextmanager
    def noted(what):
        doing.append(what)
        yield

    monkeypatch.setattr(cli, "told_while_it_lasts", noted)
    out = str(tmp_path / "out")
    for kind, file_format in (("latency", "matrix"), ("bandwidth", "netindex"), ("relays", "relayinfo")):
        with pytest.raises(SystemExit) as ended:
            main([kind, "import", str(tmp_path / kind), "--format", file_format, "--out", out])
        assert ended.value.code == 2
    assert doing == [f"importing {tmp_path / kind}" for kind in ("latency", "bandwidth", "relays")]
