"""Relays' weights out of a bandwidth file: what is read, what changes with it, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.network.conftest import small_config
from torsweep.config.knobs import WEIGHTS_FILES
from torsweep.config.network import InputSource, NetworkConfig, load_network_config
from torsweep.errors import InputError
from torsweep.network.relays import network_bandwidth_weights
from torsweep.network.sampling import WEIGHTS, SampledNetwork, input_paths, sample_network, source_path
from torsweep.network.weights import read_weights

FINGERPRINT = "$" + "A" * 40

SBWS = f"""1523911758
version=1.4.0
generator_started=2018-04-16T14:09:05
scanner_country=SN
software=sbws
=====
bw=7 error_circ=0 master_key_ed25519=YaqV4vbv nick=relay1 node_id={FINGERPRINT} rtt=456 success=1
bw=8 nick=relay2 node_id={FINGERPRINT} unmeasured=1 vote=1

# Of one that is not to be voted on:
bw=9 nick=relay1 node_id={FINGERPRINT} vote=0
"""

TORFLOW = f"""1523911758
node_id={FINGERPRINT} bw=760 nick=relay1 measured_at=1523911725 updated_at=1523911725 circ_fail=0.0
node_id={FINGERPRINT} bw=1 nick=relay2 measured_at=1523911623
"""


def _file(folder: Path, text: str) -> Path:
    (folder / "my.v3bw").write_text(text)
    return folder / "my.v3bw"


def _all(relays: int, weight: int = 50) -> str:
    lines = (f"node_id={FINGERPRINT} bw={weight + n} nick=relay{n + 1}\n" for n in range(relays))
    return "1523911758\n" + "".join(lines)


def _config(file: Path) -> NetworkConfig:
    return small_config(weights={"file": str(file)})


@pytest.mark.parametrize(
    ("text", "weights"),
    [(SBWS, {"relay1": 7, "relay2": 8}), (TORFLOW, {"relay1": 760, "relay2": 1}), ("1523911758\n", {})],
)
def test_files_of_sbws_and_of_torflow_are_read(tmp_path: Path, text: str, weights: dict[str, int]) -> None:
    assert read_weights(_file(tmp_path, text)) == weights


def test_weights_change_and_nothing_else_of_relays_does(tmp_path: Path, sampled: SampledNetwork) -> None:
    found = sample_network(_config(_file(tmp_path, _all(12))), seed=1)
    relays, usual = found.network.relays, sampled.network.relays
    assert [relay.consensus_weight for relay in relays] == list(range(50, 60))
    assert [relay.model_dump(exclude={"consensus_weight"}) for relay in relays] == [
        relay.model_dump(exclude={"consensus_weight"}) for relay in usual
    ]
    assert found.network.bandwidth_weights == network_bandwidth_weights(relays)
    same = {"relays", "bandwidth_weights", "config", "config_sha256", "inputs_sha256"}
    assert found.network.model_dump(exclude=same) == sampled.network.model_dump(exclude=same)
    assert (found.matrix_us == sampled.matrix_us).all()


def test_the_content_of_the_file_counts_in_the_network(tmp_path: Path, sampled: SampledNetwork) -> None:
    config = _config(_file(tmp_path, _all(10)))
    assert input_paths(config)["weights"] == tmp_path / "my.v3bw"
    before = sample_network(config, seed=1).network
    _file(tmp_path, _all(10) + "# the same weights\n")
    after = sample_network(config, seed=1).network
    assert before.relays == after.relays
    assert before.inputs_sha256["weights"] != after.inputs_sha256["weights"]
    assert "weights" not in sampled.network.inputs_sha256


def test_a_name_is_a_file_of_the_folder_of_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path(WEIGHTS_FILES.replace("NAME", "mine"))
    file.parent.mkdir(parents=True)
    file.write_text(_all(10))
    assert source_path(InputSource(name="mine"), WEIGHTS, "weights.v3bw") == file
    with pytest.raises(
        InputError,
        match=r"weights: there is no table of this name .*, got 'mien'; accepted: mine",
    ):
        source_path(InputSource(name="mien"), WEIGHTS, "weights.v3bw")
    with pytest.raises(InputError, match=r"here\.v3bw: no such file; accepted: a weights\.v3bw"):
        source_path(InputSource(file=Path("here.v3bw")), WEIGHTS, "weights.v3bw")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bw=7 nick=relay1\n", "is no bandwidth file, got 'bw=7 nick=relay1'; accepted: a v3bw file, whose"),
        ("1\nnode_id=$A nick=relay1\n", "line 2: says no bw; accepted: node_id=$FINGERPRINT bw=KILOBYTES"),
        ("1\nnode_id=$A bw=7\n", "line 2: says no nick; accepted: node_id=$FINGERPRINT"),
        (
            "1\nnode_id=$A bw=0 nick=a\n",
            "line 2, bw: is no weight, got '0'; accepted: a whole number from 1 to",
        ),
        ("1\nnode_id=$A bw=4294967296 nick=a\n", "line 2, bw: is no weight, got '4294967296'"),
        ("1\nnode_id=$A bw=1e3 nick=a\n", "line 2, bw: is no weight, got '1e3'"),
        ("1\nnode_id=$A bw=² nick=a\n", "line 2, bw: is no weight, got '²'"),
        (_all(2) + _all(1).split("\n", 1)[1], "line 4, nick: a relay has two weights, got 'relay1'"),
        (_all(2) + "and so on\n", "line 4: says no bw"),
        (
            _all(3),
            "relays of the network have no line with their nick, got 'relay4, relay5, relay6, relay7, relay8 "
            "and 2 more'; accepted: a line for each of relay1 to relay10",
        ),
        ("", "is no bandwidth file, got 'nothing'; accepted: a v3bw file, whose first line is a time"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    file = _file(tmp_path, text)
    with pytest.raises(InputError) as refusal:
        sample_network(_config(file), seed=1)
    assert str(refusal.value).startswith(f"{file}: {said}")
    assert "\n" not in str(refusal.value)


def test_a_chain_has_no_choice_of_relays(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"weights: a chain has one path, which no weight chooses"):
        load_network_config("starvation", {"weights": {"file": str(tmp_path)}})
