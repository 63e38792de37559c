"""Work that takes long says so; what is done at once says nothing."""

from __future__ import annotations

import pytest

from torsweep.network.cli import EVERY_S, FIRST_S, tell, told_while_it_lasts


@pytest.mark.parametrize("pauses", [0, 1, 3])
def test_a_line_comes_at_the_end_of_each_pause(pauses):
    asked, said = [], []

    def ended_within(seconds):
        asked.append(seconds)
        return len(asked) > pauses

    tell("reading rtts.txt", ended_within, said.append)
    assert asked == [FIRST_S, *[EVERY_S] * pauses]
    times = [FIRST_S + number * EVERY_S for number in range(pauses)]
    assert said == [f"reading rtts.txt: {time:.0f} s so far" for time in times]


def test_what_is_done_at_once_says_nothing(capsys):
    with told_while_it_lasts("reading rtts.txt"):
        pass
    assert capsys.readouterr().err == ""


def test_an_error_passes_through(capsys):
    with pytest.raises(ValueError, match="wrong"), told_while_it_lasts("reading rtts.txt"):
        raise ValueError("wrong")


def test_imports_are_told(monkeypatch, tmp_path):
    from torsweep import cli
    from torsweep.network import cli as waiting

    doing = []
    monkeypatch.setattr(waiting, "tell", lambda what, ended, say: doing.append(what))
    for kind, file_format in (("latency", "matrix"), ("bandwidth", "netindex"), ("relays", "relayinfo")):
        with pytest.raises(SystemExit) as ended:
            cli.main(
                [kind, "import", str(tmp_path / kind), "--format", file_format, "--out", str(tmp_path / "o")]
            )
        assert ended.value.code == 2
    assert doing == [f"importing {tmp_path / kind}" for kind in ("latency", "bandwidth", "relays")]
