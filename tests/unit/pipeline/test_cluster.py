"""The profile for Slurm says what it lacks, and names no rule that there is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from torsweep.pipeline import cluster

ROOT = Path(__file__).parents[3]
PROFILE = ROOT / "profiles/slurm/config.yaml"


def test_without_the_plugin_the_profile_says_which_to_install(monkeypatch, capsys):
    monkeypatch.setattr(cluster.importlib.util, "find_spec", lambda name: None)
    yte = pytest.importorskip("yte")
    with pytest.raises(SystemExit) as ended:
        yte.process_yaml(PROFILE.read_text(), require_use_yte=True)
    assert ended.value.code == 3
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "pip install snakemake-executor-plugin-slurm" in said


def test_with_the_plugin_it_says_nothing(capsys):
    cluster.require_slurm_plugin()
    assert capsys.readouterr().err == ""


def test_the_profile_does_what_the_default_one_does():
    default = yaml.safe_load((ROOT / "profiles/default/config.yaml").read_text())
    assert default.items() <= yaml.safe_load(PROFILE.read_text()).items()


def test_rules_of_the_profile_exist():
    rules = set(re.findall(r"^(?:rule|use rule \w+ as) (\w+)", _all_rules(), re.MULTILINE))
    named = {entry.partition(":")[0] for entry in yaml.safe_load(PROFILE.read_text())["set-resources"]}
    assert named <= rules
    assert named == {rule for rule in rules if "emulation" in rule}


def _all_rules() -> str:
    return "".join(file.read_text() for file in (ROOT / "rules").glob("*.smk"))
