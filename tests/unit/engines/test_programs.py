"""Programs of a run: their hosts, their commands in each engine of real tor, and what they leave."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.prepared_runs import prepared_run
from tests.small_network import equal_rtts, small_network
from torsweep.config.experiment import load_experiment
from torsweep.config.network import load_network_config
from torsweep.engines.host_files import address, program_lines
from torsweep.engines.programs import (
    CAPTURE_FILE,
    captures,
    host_programs,
    keep_files,
    needs_text,
    run_programs,
)
from torsweep.engines.run_spec import RunSpec, clear_results, read_prepared
from torsweep.errors import InputError, TorsweepError
from torsweep.network.model import write_network

NETWORK = small_network(
    ("guard_exit", "exit", "guard", "guard", "middle"), ["web1", "web2", "bulk1"], servers=2
)
FINGERPRINTS = {relay.name: f"{number:040X}" for number, relay in enumerate(NETWORK.relays)}
SCRIPT = {"command": ["python3", "{experiment}/experiment.yaml", "{host}", "{number}"]}


def prepared(folder: Path, programs: object, engine: str = "emulation") -> RunSpec:
    """The run of the level ``asked`` of ``programs``, in ``folder``, or without any."""
    if not (folder / "network").is_dir():
        write_network(NETWORK, equal_rtts(NETWORK), folder / "network")
    levels = {"programs.asked": programs, "knobs.programs": ["none", "asked"], "baseline.programs": "none"}
    experiment = load_experiment("refill_sweep", levels if programs else {})
    variant, places = experiment.variant("programs=asked" if programs else ""), _places(folder)
    run = prepared_run(*places, variant.key, of=experiment, engine=engine, era="today")
    return run.model_copy(update={"programs": run_programs(experiment, variant, *places)})


def _places(folder: Path) -> tuple[Path, Path]:
    return folder / "network", folder / "run"


def commands(run: RunSpec, folder: Path) -> dict[str, list[str]]:
    network = NETWORK.model_copy(update={"program_hosts": run.programs.hosts})
    found = host_programs(run, network, folder / "run", FINGERPRINTS, 1000.0)
    return {each.name: list(each.command[1:]) for each in found}


def test_hosts_of_its_own_come_after_all_others_and_move_nobody(tmp_path: Path):
    run = prepared(tmp_path, {**SCRIPT, "hosts": {"count": 3, "like": "client", "rate": "8 Mbit/s"}})
    assert [host.name for host in run.programs.hosts] == ["program1", "program2", "program3"]
    assert {host.down_bytes_per_s for host in run.programs.hosts} == {1_000_000}
    assert {host.place for host in run.programs.hosts} <= {client.place for client in NETWORK.clients}
    fewer = prepared(tmp_path, {**SCRIPT, "hosts": {"count": 2, "like": "client", "rate": "8 Mbit/s"}})
    assert fewer.programs.hosts == run.programs.hosts[:2]
    (tmp_path / "run").mkdir()
    run.write(tmp_path / "run")
    _, network, _ = read_prepared(tmp_path / "run")
    assert network.hosts[: NETWORK.node_count] == NETWORK.hosts
    assert network.node_of["program1"] == NETWORK.node_count


def test_a_command_is_filled_in_for_each_host(tmp_path: Path):
    places = ["{address:web2}", "{address:heaviest_guard}:{or_port}", "{fingerprint:relay5}", "{start}"]
    command = [*SCRIPT["command"], *places, "{seed}"]
    run = prepared(tmp_path, {"command": command, "on": {"role": "client", "share": 0.6}})
    guards = [relay for relay in NETWORK.relays if "guard" in relay.position]
    heaviest = max(guards, key=lambda relay: relay.consensus_weight)
    node_of, hosts = NETWORK.node_of, run.programs.programs[0].hosts
    assert len(hosts) == 2
    filled = commands(run, tmp_path)
    assert list(filled) == [f"{host}-1" for host in hosts]
    experiment, *words = filled[f"{hosts[1]}-1"]
    assert Path(experiment) == Path("experiments/refill_sweep/experiment.yaml").resolve()
    start = 1000 + run.warm_up_ns / 1e9
    addresses = [address(node_of["web2"]), f"{address(node_of[heaviest.name])}:9001"]
    assert words == [hosts[1], "2", *addresses, FINGERPRINTS["relay5"], f"{start:.3f}", str(NETWORK.seed)]
    assert list(run.programs.files_sha256) == ["experiment.yaml"]


def test_the_tor_of_a_host_serves_its_programs_at_ports_of_their_own(tmp_path: Path):
    ports = {"command": ["true", "{socks_port}", "{control_port}"]}
    own = {**ports, "hosts": {"torrc": {"EntryNodes": "{fingerprint:relay3}"}}}
    run = prepared(tmp_path, [{**ports, "on": {"names": ["web1"]}}, own, {"command": ["true"], "on": {}}])
    network = NETWORK.model_copy(update={"program_hosts": run.programs.hosts})
    control = "ControlPort 9151"
    lines = {
        "web1": [control, "SocksPort 9150"],
        "web2": [],
        "relay1": [control],
        "program1": [control, f"EntryNodes {FINGERPRINTS['relay3']}"],
    }
    assert {name: program_lines(run, network, FINGERPRINTS, name) for name in lines} == lines
    assert commands(run, tmp_path)["program1-2"] == ["9150", "9151"]


def test_without_programs_run_json_says_nothing_of_them(tmp_path: Path):
    assert "programs" not in json.loads(prepared(tmp_path, None).text())


@pytest.mark.parametrize(
    ("command", "on", "said"),
    [
        ("no-such-program", {}, r"\.command: is no program that is found here"),
        ("true {experiment}/x.py", {}, r"\.command: no such file, got 'x.py'"),
        ("true {address:web9}", {}, r": no such host .*, got 'web9'; acc"),
        ("true {fingerprint:web1}", {}, r": no such relay.*, got 'web1'"),
        ("true {socks_port}", {}, r"\.command: has no SOCKS port, got 'rela"),
        (
            "true",
            {"role": "client", "kind": ["onion"]},
            r"\.on\.kind: the network has no such client, got 'onion'; accepted: bulk, web",
        ),
        ("true", {"names": ["web9"]}, r"\.on\.names: no such host that runs tor"),
    ],
)
def test_what_cannot_be_filled_in_or_found_is_refused_before_a_run(command, on, said, tmp_path: Path):
    with pytest.raises(InputError, match=rf"^programs\.asked\[0\]{said}"):
        prepared(tmp_path, {"command": command.split(), "on": on})


def test_hosts_can_be_clients_of_a_kind(tmp_path: Path):
    run = prepared(tmp_path, {**SCRIPT, "on": {"role": "client", "kind": "bulk"}})
    assert run.programs.programs[0].hosts == ("bulk1",)


def test_the_plan_has_the_processes_of_the_level_with_most_and_what_they_keep():
    levels = {
        "one": {**SCRIPT, "on": {"role": "client"}},
        "two": [{**SCRIPT, "hosts": {"count": 5}, "keeps": ["*"]}, {**SCRIPT, "on": {"names": ["relay1"]}}],
    }
    grid = {"programs": levels, "knobs.programs": ["none", *levels], "baseline.programs": "none"}
    experiment = load_experiment("refill_sweep", grid)
    config = load_network_config("ci")
    assert needs_text((), config) == ""
    few = needs_text([experiment.programs["two"]], config)
    assert few == "; programs beside tor: up to 6 a run, which keep at most 50 MB"
    many = f"; programs beside tor: up to {config.client_tor_count} a run, which keep at most 50 MB"
    assert needs_text(experiment.programs.values(), config) == many
    kinds = {**SCRIPT, "on": {"role": "client", "kind": ["perf_50kib", "bulk"]}}
    (own,) = load_experiment("refill_sweep", {**grid, "programs.one": kinds}).programs["one"]
    measuring = load_network_config("ci", {"perf_clients": 6})
    assert f"up to {2 + measuring.client_counts['bulk']} a run" in needs_text([[own]], measuring)


def test_packets_of_named_hosts_are_kept_where_programs_leave_their_files(tmp_path: Path):
    write_network(NETWORK, equal_rtts(NETWORK), tmp_path / "network")

    def traced(engine: str, host: str) -> RunSpec:
        asked = {"engine": engine, "era": "today", "tracing.packets": [host]}
        return prepared_run(*_places(tmp_path), **asked)

    with pytest.raises(InputError, match=r"tracing.packets: no such host, got 'web9'; accepted: relay1 to "):
        traced("emulation", "web9")
    with pytest.raises(InputError, match=r"tracing.packets: has no packets of its own, got 'cellsim'"):
        traced("cellsim", "web1")
    (capture,) = captures(traced("emulation", "server1"), ["tcpdump"])
    assert (capture.host, capture.command) == ("server1", ["tcpdump"])
    (tmp_path / "server1").mkdir()
    (tmp_path / "server1" / CAPTURE_FILE).write_bytes(b"x")
    record = keep_files(tmp_path / "run", [capture], tmp_path.joinpath)
    assert list(record["programs"]) == ["server1/eth0.pcap"]
    assert list(captures(prepared(tmp_path, None))) == []


def test_a_model_refuses_programs_in_one_line(tmp_path: Path):
    with pytest.raises(InputError, match=r"^programs: is of tor itself, and this engine is a model of it"):
        prepared(tmp_path, {"command": ["true"], "on": {}}, "cellsim")


def test_kept_files_go_below_the_run_and_too_many_bytes_fail_it(tmp_path: Path):
    run = prepared(tmp_path, {**SCRIPT, "hosts": {}, "keeps": ["*.csv", "more/*"], "keeps_most": "10 B"})
    network = NETWORK.model_copy(update={"program_hosts": run.programs.hosts})
    (program,) = host_programs(run, network, tmp_path / "run", FINGERPRINTS, 0)
    host = tmp_path / "hosts" / "program1"
    (host / "more").mkdir(parents=True)
    for name in ("sent.csv", "more/x", "left.txt"):
        (host / name).write_text("12345")
    record = keep_files(tmp_path / "run", [program], (tmp_path / "hosts").joinpath)
    assert list(record["programs"]) == ["program1/more/x", "program1/sent.csv"]
    assert (tmp_path / "run/programs/program1/more/x").read_text() == "12345"
    clear_results(tmp_path / "run")
    assert not (tmp_path / "run" / "programs").exists()
    (host / "sent.csv").write_text("1234567")
    with pytest.raises(TorsweepError, match=r"program1-1: 12 bytes of files to keep, .* keeps_most, 10 B"):
        keep_files(tmp_path / "run", [program], (tmp_path / "hosts").joinpath)
    (host / "sent.csv").unlink()
    (host / f"{Path(str(shutil.which('python3'))).name}.1000.stdout").write_text("x" * 11)
    with pytest.raises(TorsweepError, match="program1-1: 11 bytes of output"):
        keep_files(tmp_path / "run", [program], (tmp_path / "hosts").joinpath)
