"""A run from the command line, up to where real tools are needed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torsweep.errors import InputError, ToolMissing, TorsweepError
from torsweep.shadow import preflight, run
from torsweep.shadow.settings import ShadowSettings
from torsweep.shadow.tools import Tools


def _say(_: str) -> None:
    pass


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"run\.json: no such file"):
        run.run_shadow(tmp_path, ShadowSettings(), _say)


def test_without_shadow_a_run_says_how_to_get_it(
    run_directory: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("TORSWEEP_SHADOW", raising=False)
    with pytest.raises(ToolMissing, match=r"^shadow: not on PATH.*how to install it: https://"):
        run.run_shadow(run_directory, ShadowSettings(), _say)


def test_a_network_that_has_changed_since_is_refused(
    run_directory: Path, tools: Tools, tmp_path: Path
) -> None:
    file = tmp_path / "network" / "network.json"
    file.write_text(file.read_text().replace('"seed": 7', '"seed": 8'))
    with pytest.raises(InputError, match=r"network\.json: the network is not the one .* prepare the run"):
        run.write_run_directory(run_directory, ShadowSettings(), tools, _say)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"engine": "cellsim"}, r"engine: was prepared for another engine, got 'cellsim'"),
        ({"paths": {"web1": [["relay1", "relay5", "relay2"]]}}, r"paths: tor chooses its circuits itself"),
    ],
)
def test_a_run_that_shadow_cannot_run_is_refused(
    run_directory: Path, changes: dict[str, object], message: str
) -> None:
    file = run_directory / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
    with pytest.raises(InputError, match=message):
        run.run_shadow(run_directory, ShadowSettings(), _say)


def test_rates_that_are_mixed_up_are_refused(tools: Tools) -> None:
    right = {"down": 0.93 * preflight.DOWN_BYTES_PER_S, "up": 0.97 * preflight.UP_BYTES_PER_S}
    preflight.check(right, tools)
    mixed_up = {**right, "up": right["down"]}
    with pytest.raises(TorsweepError, match=r"wrong rates: 0\.25 MB/s up were asked for, 0\.930 MB/s"):
        preflight.check(mixed_up, tools)


def test_the_preflight_of_a_version_is_kept(
    tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = {"down": 0.95 * preflight.DOWN_BYTES_PER_S, "up": 0.95 * preflight.UP_BYTES_PER_S}
    calls = []

    def measure(_: Tools) -> dict[str, float]:
        calls.append(1)
        return measured

    monkeypatch.setattr(preflight, "measure", measure)
    for _ in range(2):
        assert preflight.require_preflight(tools, _say, tmp_path / "kept") == measured
    assert len(calls) == 1


def test_the_version_that_figures_name_has_shadow_and_tor(tools: Tools) -> None:
    assert tools.engine_version == "3.3.0-199-gf1b, tor 0.4.9.11-abc"
