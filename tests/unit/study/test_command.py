"""``torsweep compare`` from its options to its last line; Snakemake is stood in for."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
import yaml

from tests.analyses import TIMES, change_verdict, claims_file_of
from torsweep.cli import app
from torsweep.engines import selection
from torsweep.errors import ToolMissing
from torsweep.home import CHECKOUT
from torsweep.stats.claims.change import EVERYONE, SHARE_MEASURES
from torsweep.study import answer, play, request, workload
from torsweep.study.venue import Venue
from torsweep.tor import build

STANDS = SimpleNamespace(is_arti=True)
"""A build that is there, and is asked nothing."""

ASKED = ("compare", "--torrc", "KISTSchedRunInterval 1 msec", "--network", "ci")


@pytest.fixture(autouse=True)
def stand_ins(nothing_tried: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """An engine that can run, a pipeline that makes what is said here; the commands that were given."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(request, "choose_venue", lambda *asked: Venue("emulation", "ci", "as a test says so"))
    monkeypatch.setattr(build, "check_requirements", lambda: None)
    monkeypatch.setattr(selection, "problems", lambda *asked, **_: iter(()))
    monkeypatch.setattr(workload, "standing_build", lambda study, tor: None)
    unclear = {"paired_ttfb": (-0.2, 0.1), "mean_ttlb": (-0.2, 0.1)}
    found = claims_file_of(
        change_verdict("web", paired_ttfb=(-0.1, -0.02)), change_verdict("large", **unclear)
    )
    monkeypatch.setattr(answer, "read_claims", lambda summary: found)
    commands: list[list[str]] = []
    monkeypatch.setattr(play, "_call", lambda command: commands.append(command) or 0)
    return commands


def test_an_engine_that_is_not_here_is_planned_and_not_begun(torsweep, stand_ins, monkeypatch):
    lack = ToolMissing("emulation: needs rights")
    monkeypatch.setattr(selection, "problems", lambda *asked, **_: iter([lack]))
    code, out, err = torsweep(*ASKED, "--dry-run")
    assert (code, err) == (0, f"torsweep: emulation cannot run here: {lack}\n")
    assert "engine    emulation" in out
    code, _, err = torsweep(*ASKED)
    assert (code, err) == (3, f"torsweep: {lack}\n")
    assert not stand_ins


def test_from_options_to_the_verdict(torsweep, stand_ins, tmp_path):
    code, out, err = torsweep(*ASKED)
    assert code == 0, err
    (study,) = Path("torsweep-studies").iterdir()
    assert stand_ins[0][5:7] == ["--directory", str(study)]
    said = [" ".join(line.split()) for line in out.splitlines()]
    assert said[:2] == [
        "KISTSchedRunInterval 1 msec, against Debian's tor",
        "8 networks of ci, emulation, era today",
    ]
    assert said[2] == "Web clients: faster: first byte, same download −6.0 % (+100 ms)."
    unclear = "first byte, same download may be anything in [−20.0, +10.0] %"
    assert said[3].startswith(f"Inconclusive: Large downloads (5 MiB): {unclear}; ")
    table = [line for line in said if line.startswith(("web, ", "5 MiB, "))]
    assert len(table) == 4
    assert table[0] == "web, first byte, same download −6.0 % (+100 ms) [−10.0, −2.0] % shown –"
    assert table[2] == "5 MiB, first byte, same download −5.0 % (+100 ms) [−20.0, +10.0] % inconclusive –"
    assert any(line.startswith("Intervals: all 12 together with 95 %. ") for line in said)
    assert len(said) <= 20
    name = "kistschedruninterval_1_msec"
    page = f"{study}/results/reports/{name}/emulation/today/ci/main"
    assert any(re.fullmatch(r"next: --networks 16: about \d+ (min|h).* more", line) for line in said)
    assert said[-2:] == [f"page: {page}/{name}.html", f"to paste: {page}/answer.md"]
    assert Path(page, "answer.md").read_text().count("| web, first byte, same download |") == 1
    source = yaml.safe_load(next(study.glob("experiments/*/experiment.yaml")).read_text())["report"]["source"]
    asked = "torsweep compare --torrc 'KISTSchedRunInterval 1 msec' --network ci"
    assert source == asked, "what was asked for, and nothing that was chosen"


def test_json_is_all_of_standard_output(torsweep, stand_ins):
    code, out, err = torsweep(*ASKED, "--json")
    assert code == 0
    answer = json.loads(out)
    assert answer["verdict"] == "shown"
    assert [kind["verdict"] for kind in answer["kinds"]] == ["shown", "inconclusive"]
    assert "page: " in err
    code, _, err = torsweep(*ASKED, "--json", "--dry-run")
    assert code == 2 and "--json: is the answer, which --dry-run has not" in err


@pytest.mark.parametrize(("conditions", "code"), [("worse", 0), ("worse inconclusive", 1), ("shown", 1)])
def test_a_job_fails_where_it_says(torsweep, stand_ins, tmp_path, conditions, code):
    asked = [word for condition in conditions.split() for word in ("--fail-if", condition)]
    found, out, _ = torsweep(*ASKED, *asked)
    assert found == code
    assert "to paste: " in out, "the answer is there all the same"
    assert list(tmp_path.glob("torsweep-studies/*/experiments/*/looks.json")), "it has been looked at"


def test_looks_are_kept_and_later_ones_cost(torsweep, stand_ins, tmp_path):
    for _ in range(2):  # The same look again costs nothing.
        torsweep(*ASKED)
        (looks,) = tmp_path.glob("torsweep-studies/*/experiments/*/looks.json")
        assert json.loads(looks.read_text()) == {"8": 0.8}
    (file,) = tmp_path.glob("torsweep-studies/*/experiments/*/experiment.yaml")
    torsweep(*ASKED, "--networks", "16", "--dry-run")
    assert yaml.safe_load(file.read_text())["precision"]["looks"] == {8: 0.8}, "a plan is no look"
    torsweep(*ASKED, "--networks", "16")
    assert yaml.safe_load(file.read_text())["precision"]["looks"] == {8: 0.8, 16: 0.9}
    code, _, err = torsweep(*ASKED, "--networks", "4")
    assert code == 2
    problem = "--networks: is fewer than this comparison has been looked at with, got 4"
    assert f"{problem}; accepted: 8 or more" in err
    looks.unlink()
    (file.parents[2] / "results/summaries").mkdir(parents=True, exist_ok=True)
    code, _, err = torsweep(*ASKED, "--networks", "4")
    assert code == 2 and problem in err, "the study states its looks, too"


def test_a_time_stands_for_a_number_of_networks_and_the_same_command_goes_on(
    torsweep, stand_ins, tmp_path, monkeypatch
):
    code, _, err = torsweep(*ASKED, "--within", "2 h")
    assert code == 0, err
    (file,) = tmp_path.glob("torsweep-studies/*/experiments/*/experiment.yaml")
    study = yaml.safe_load(file.read_text())
    assert study["report"]["source"].endswith("--within '2 h'")
    # The model has been seen to differ by chance on networks `ci` in 1, 2 and 4 min.
    assert study["replicates"] > 8 and study["measured"] in ("60 s", "2 min", "240 s")
    # The verdict has been seen, and builds stand now, which leaves time for more; what is planned stays.
    (file.parent / "looks.json").write_text(json.dumps({str(study["replicates"]): 0.8}))
    monkeypatch.setattr(workload, "standing_build", lambda study, tor: STANDS)
    assert torsweep(*ASKED, "--within", "2 h")[0] == 0
    assert yaml.safe_load(file.read_text())["replicates"] == study["replicates"]


def test_a_dry_run_says_what_it_takes_and_writes_nothing(torsweep, stand_ins, tmp_path):
    code, out, _ = torsweep(*ASKED, "--dry-run", "--networks", "4")
    assert (code, stand_ins, list(tmp_path.iterdir())) == (0, [], [])
    said = dict(line.split(None, 1) for line in out.splitlines()[1:])
    assert said["engine"] == "emulation, network ci: as a test says so"
    assert said["builds"].startswith("Debian's tor to be built; whether patches apply")
    assert said["runs"] == "8 (2 on each of 4 networks), 2 min measured, 0 of them finished"
    assert "at a time; " in said["time"] and said["time"].endswith("MB of disk")


def test_what_a_build_lacks_here_is_planned_around_and_stops_before_anything_is_written(
    torsweep, stand_ins, tmp_path, monkeypatch
):
    def no_libevent() -> None:
        raise ToolMissing("building tor needs libevent: apt-get install libevent-dev")

    monkeypatch.setattr(build, "check_requirements", no_libevent)
    code, out, _ = torsweep(*ASKED, "--dry-run")
    assert code == 0
    assert "to be built; missing: building tor needs libevent: apt-get install libevent-dev" in out
    code, _, err = torsweep(*ASKED)
    assert code == 3 and err.splitlines()[-1].startswith("torsweep: building tor needs libevent")
    assert (stand_ins, list(tmp_path.iterdir())) == ([], [])
    monkeypatch.setattr(workload, "standing_build", lambda study, tor: STANDS)
    assert torsweep(*ASKED)[0] == 0, "what stands needs nothing"


def test_a_dry_run_counts_what_stands(torsweep, stand_ins):
    torsweep(*ASKED)
    (study,) = Path("torsweep-studies").iterdir()
    name = "kistschedruninterval_1_msec"
    for seed in (1, 9):
        run = study / f"results/runs/{name}/emulation/today/ci/{seed}/options={name}"
        run.mkdir(parents=True)
        (run / "provenance.json").touch()
    _, out, _ = torsweep(*ASKED, "--dry-run")
    assert "16 (2 on each of 8 networks), 2 min measured, 1 of them finished" in out


def test_a_pipeline_that_fails_prints_no_verdict(torsweep, monkeypatch):
    monkeypatch.setattr(play, "_call", lambda command: 1)
    code, out, err = torsweep(*ASKED)
    assert (code, out) == (1, "")
    # Why is said last, by the pipeline itself.
    assert err.splitlines()[-1].startswith("torsweep: the study is ")


def test_a_plan_has_at_most_ten_lines_and_an_answer_twenty(torsweep, stand_ins, monkeypatch):
    """Each group is slower in all measures, two networks are far from the others, and all that may stand
    below is there."""
    bad = dict.fromkeys(TIMES, (0.1, 0.3))
    groups = [change_verdict(kind, **bad) for kind in ("web", "large", "middle", "small")]
    verdicts = [*groups, change_verdict(EVERYONE, **dict.fromkeys(SHARE_MEASURES, (0.1, 0.3)))]
    odd, *rest = groups[0].comparisons
    far_out = replace(odd, behind=replace(odd.behind, far_out=(1, 2)))
    verdicts[0] = replace(groups[0], comparisons=(far_out, *rest))
    monkeypatch.setattr(answer, "read_claims", lambda summary: claims_file_of(*verdicts))
    monkeypatch.setattr(answer, "costs_of", lambda summary: "Relays: processor time +2.5 % [−1.0, +6.0]")
    _, out, _ = torsweep(*ASKED)
    assert "more measures" in out and "Far from the others: network 1 (" in out
    assert len(out.splitlines()) <= 20, out
    monkeypatch.setattr(workload.Workload, "too_short", ["5 MiB, last byte"])
    _, out, _ = torsweep(*ASKED[:-1], "eight_relays", "--dry-run")
    assert len(out.splitlines()) <= 10, out


def test_what_was_decided_is_said(torsweep, repository):
    _, _, err = torsweep("compare", "--candidate", f"{repository}@my-branch", "--dry-run", "--network", "ci")
    assert err.startswith("torsweep: baseline: main at ")


def test_the_commands_of_the_how_to_are_accepted():
    text = (CHECKOUT / "docs/how-to/compare.md").read_text()
    commands = re.findall(r"^    (?:\$ )?torsweep compare (.*?)(?: +#.*)?$", text, re.MULTILINE)
    assert len(commands) >= 8
    for command in commands:
        typer.main.get_command(app).commands["compare"].make_context("compare", shlex.split(command))  # type: ignore[attr-defined]
