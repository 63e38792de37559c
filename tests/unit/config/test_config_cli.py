"""``torsweep config``: files checked from the command line."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest


def test_check_says_what_each_file_is(torsweep):
    code, out, _ = torsweep(
        "config", "check", "configs/networks/ci.yaml", "experiments/refill_sweep/experiment.yaml"
    )
    assert code == 0
    assert "configs/networks/ci.yaml: a network of 133 hosts, 10 of them relays" in out
    assert "main (6), aligned_phases (6)" in out


def test_check_says_what_the_names_of_levels_stand_for(torsweep, tmp_path):
    text = Path("experiments/nagle/experiment.yaml").read_text()
    file = tmp_path / "mine" / "experiment.yaml"
    file.parent.mkdir()
    file.write_text(f"{text}\ntors: {{new: {{git: ../tor}}}}\noptions: {{dns: {{torrc: {{CacheDNS: 0}}}}}}\n")
    code, out, _ = torsweep("config", "check", file)
    assert code == 0
    assert '\n  tors.new: {"git": "../tor"}\n  options.dns: {"torrc": {"CacheDNS": "0"}}\n' in out


def test_check_stops_at_the_first_thing_wrong_with_one_line(torsweep, tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text("relays: ten\nweb_clients: 5\nbulk_clients: 0\nservers: 2\n")
    code, _, error = torsweep("config", "check", file)
    assert code == 2
    assert error.startswith(
        f"torsweep: {file}: relays: is not accepted, got 'ten'; accepted: a valid integer"
    )
    assert error.count("\n") == 1


def test_knobs_are_listed_with_their_level_in_each_era(torsweep):
    code, out, _ = torsweep("config", "knobs")
    assert code == 0
    assert "refill_mode" in out
    assert "2012: burst; 2019: lazy; today: lazy" in out


EXAMPLE = resources.files("torsweep.study").joinpath("templates/experiment.yaml")


@pytest.mark.parametrize(
    ("text", "instead", "complaint"),
    [
        ("engines: [emulation, shadow]", "engines: [cellsim]", "engines: the knob options is in none of"),
        ("engines: [emulation, shadow]", "engines: [shadow, shadow]", "engines[1]: is given twice, got"),
        ("[ttfb_cdf, ttlb_cdf, differences]", "[ttfb_cdf, ttfb_cdf]", "figures[1]: is given twice"),
        ("{KISTSchedRunInterval: 10 msec}", "{KISTSchedRunIntervall: 1 msec}", "did you mean 'KISTSched"),
        ("{KISTSchedRunInterval: 10 msec}", "{cc_alg: 0}", "accepted: options.slow.consensus.cc_alg"),
        ("slow: {", "slow: {consensus: {cc_algg: 0}, ", "options.slow.consensus.cc_algg: is not a consensus"),
    ],
)
def test_what_runs_would_stumble_over_is_refused_before_them(torsweep, tmp_path, text, instead, complaint):
    file = tmp_path / "mine" / "experiment.yaml"
    file.parent.mkdir()
    example = EXAMPLE.read_text()
    assert text in example
    file.write_text(example.replace(text, instead, 1))
    code, _, error = torsweep("config", "check", file)
    assert code == 2
    assert complaint in error


def test_another_tor_may_know_other_options(torsweep, tmp_path):
    file = tmp_path / "mine" / "experiment.yaml"
    file.parent.mkdir()
    text = EXAMPLE.read_text().replace("{KISTSchedRunInterval: 10 msec}", "{MyOption: 1}")
    text = text.replace("  options: [slow, fast]", "  options: [slow, fast]\n  tor: [mine]")
    text = text.replace("  options: slow\n", "  options: slow\n  tor: mine\n")
    file.write_text(f"{text}\ntors: {{mine: {{git: ../tor}}}}\n")
    assert torsweep("config", "check", file)[0] == 0
