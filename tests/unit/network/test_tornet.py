"""A folder of tornettools is read as it is, or refused in one line."""

from __future__ import annotations

import lzma
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.synthetic_tornet import AUTHORITIES, CLIENTS, RELAYS, SERVERS, write_tornet
from torsweep.config.experiment import load_experiment
from torsweep.config.network import NetworkConfig
from torsweep.config.option_bundle import Where
from torsweep.engines.host_choice import hosts_of
from torsweep.engines.prepare import build_run
from torsweep.engines.run_settings import run_settings
from torsweep.engines.shadow.traffic import graphml
from torsweep.errors import InputError
from torsweep.network.model import Network, read_network
from torsweep.network.tornet import write_tornet as write_network_of
from torsweep.network.tornet_folder import consensus_votes, read_tornet, torrc_lines

SECOND_NS = 10**9


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tornet(tmp_path / "tornet")


def test_hosts_are_told_by_their_names(folder: Path) -> None:
    tornet = read_tornet(folder)
    assert (tornet.bootstrap_ns, tornet.stop_ns) == (300 * SECOND_NS, 2400 * SECOND_NS)
    assert tornet.relays == dict(zip(RELAYS, ("guard_exit", "exit", "guard", "middle"), strict=True))
    assert tornet.clients == {
        "perfclient1exit": "perf",
        "perfclient2onionservice": "onion",
        "markovclient1exit": "markov",
    }
    assert "server2onionservice" in tornet.tors and "server1exit" not in tornet.tors


def test_a_graph_that_was_moved_with_the_folder_is_found(folder: Path) -> None:
    assert read_tornet(folder).graph == folder / "conf/graph.gml.xz"


def test_options_are_read_through_includes(folder: Path) -> None:
    (folder / "shadow.data.template/hosts/4uthority1/torrc").write_text("Log warn stdout\n")
    tornet = read_tornet(folder)
    assert torrc_lines(tornet, "4uthority1", "log") == ["warn stdout"]
    assert torrc_lines(tornet, "4uthority2", "log") == ["notice stdout"]
    assert torrc_lines(tornet, "relay1exitguard", "ConsensusParams") == []


@pytest.mark.parametrize(
    "line",
    [
        "ConsensusParams cc_alg=2 circwindow=500",
        "\tconsensusparams\tcc_alg=2 circwindow=500  # as on the public network",
        'ConsensusParams "cc_alg=2 circwindow=500" # both',
        "ConsensusParams cc_alg=2 \\\n circwindow=500",
    ],
)
def test_an_option_is_read_as_tor_reads_it(folder: Path, line: str) -> None:
    (folder / "shadow.data.template/hosts/4uthority1/torrc").write_text(
        f"# ConsensusParams cc_alg=1\n{line}\n"
    )
    votes = consensus_votes(read_tornet(folder), "4uthority1")
    assert votes == {"cc_alg": "2", "circwindow": "500"}


@pytest.mark.parametrize(
    ("defaults", "own", "votes"),
    [
        (["a=1", "b=2"], [], "a=1 b=2"),
        (["a=1"], ["b=2", "+c=3"], "b=2 c=3"),
        (["a=1"], ["+b=2", "c=3"], "a=1 b=2 c=3"),
        (["a=1"], ["b=2", "/", "c=3"], "c=3"),
        (["a=1"], ["/"], ""),
    ],
)
def test_lines_of_a_list_count_as_in_tor(
    folder: Path, defaults: list[str], own: list[str], votes: str
) -> None:
    """The same as ``tor --dump-config`` of 0.4.9.11 has."""

    def text(values: list[str]) -> str:
        signed = (re.fullmatch(r"([+/]?)(.*)", value) for value in values)
        return "".join(f"{each[1]}ConsensusParams {each[2]}\n" for each in signed if each)

    (folder / "conf/tor.relay.authority.torrc").write_text(text(defaults))
    (folder / "shadow.data.template/hosts/4uthority1/torrc").write_text(text(own))
    found = consensus_votes(read_tornet(folder), "4uthority1")
    assert " ".join(f"{name}={value}" for name, value in found.items()) == votes


def test_a_network_of_tornettools_1_is_named(tmp_path: Path) -> None:
    (tmp_path / "shadow.config.xml").write_text("<shadow/>")
    with pytest.raises(InputError, match=r"shadow\.config\.xml: was made by tornettools 1"):
        read_tornet(tmp_path)


@pytest.mark.parametrize("changed", ["conf/tor.client.torrc", "shadow.data.template/hosts/relay2exit/torrc"])
def test_the_checksum_is_of_all_that_a_simulation_reads(folder: Path, changed: str) -> None:
    before = read_tornet(folder).sha256()
    (folder / "shadow.log").write_text("of a simulation there\n")
    assert read_tornet(folder).sha256() == before
    with (folder / changed).open("a") as file:
        file.write("AvoidDiskWrites 1\n")
    assert read_tornet(folder).sha256() != before


def _rewrite(*words: str) -> Callable[[Path], None]:
    """Each word and what stands in its place."""

    def change(folder: Path) -> None:
        file = folder / "shadow.config.yaml"
        for old, new in zip(words[::2], words[1::2], strict=True):
            assert old in file.read_text()
            file.write_text(file.read_text().replace(old, new))

    return change


def _pack(folder: Path, part: str) -> None:
    """Pack a part as `tornettools archive` does; what the archive holds is not looked at."""
    if (folder / part).is_file():
        (folder / f"{part}.xz").write_bytes(lzma.compress((folder / part).read_bytes()))
        (folder / part).unlink()
    else:
        (folder / f"{part}.tar.xz").write_bytes(lzma.compress(b""))
        shutil.rmtree(folder / part)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda f: (f / "shadow.config.yaml").unlink(), "shadow.config.yaml: no such file: tornettools"),
        (lambda f: _pack(f, "shadow.config.yaml"), "is packed, as `tornettools archive` leaves it"),
        (lambda f: _pack(f, "conf"), "conf.tar.xz: is packed, as `tornettools archive` leaves it"),
        (lambda f: _pack(f, "shadow.data.template"), "unpacked by `tar xJf shadow.data.template.tar.xz`"),
        (lambda f: shutil.rmtree(f / "conf"), "conf: no such folder: the network is not whole"),
        (lambda f: shutil.rmtree(f / "shadow.data.template"), "hosts: no such folder: the network is not"),
        (lambda f: (f / "conf/graph.gml.xz").unlink(), "graph.gml.xz: no such file: the graph"),
        (
            lambda f: (f / "shadow.data.template/hosts/relay2exit/keys/secret_id_key").unlink(),
            "secret_id_key",
        ),
        (lambda f: (f / "shadow.config.yaml").write_text("general: ["), "is not valid YAML"),
        (lambda f: (f / "shadow.config.yaml").write_text("general: {}\n"), "hosts: is not as tornettools"),
        (_rewrite("relay2exit:", "exit2:"), "hosts.exit2: is not as tornettools generate writes it"),
        (_rewrite(" --defaults-torrc torrc-defaults -f torrc", " -f tor.torrc"), "is not as tornettools"),
        (_rewrite("--Nickname relay2exit", "--Nickname relay2exit --A 1"), "has options among the arguments"),
        (_rewrite("bin/oniontrace", "bin/tgen"), "hosts.perfclient1exit.processes: does not run tgen once"),
        (_rewrite("bin/tor", "bin/arti"), "hosts.4uthority1.processes: does not run tor once, got 0"),
        (_rewrite("path: ~/.local/bin/tgen", "name: tgen"), "hosts.server1exit: is not as tornettools"),
        (_rewrite("network:\n", "network:\nother:\n"), "network: is not as tornettools"),
        (_rewrite("hosts:\n", "experimental: [1]\nhosts:\n"), "experimental: is not as tornettools"),
        (_rewrite(": shadow.data.template", ": /elsewhere"), "general.template_directory: is not as"),
        (_rewrite("40 min", "soon"), "general.stop_time: is no time, got 'soon'"),
        (_rewrite("40 min", "2012-13-45"), "is not valid YAML: month must be in 1..12"),
        (_rewrite("general:\n", f"general:\n  seed: {'9' * 5000}\n"), "is not valid YAML: Exceeds the limit"),
    ],
)
def test_what_is_missing_is_said_in_one_line(folder: Path, damage: Callable[[Path], None], told: str) -> None:
    damage(folder)
    with pytest.raises(InputError) as refused:
        read_tornet(folder)
    assert told in str(refused.value)


def config(*folders: Path) -> NetworkConfig:
    counts = {
        "relays": 4,
        "web_clients": 0,
        "bulk_clients": 0,
        "servers": 2,
        "perf_clients": 2,
        "markov_clients": 1,
    }
    return NetworkConfig.model_validate({"tornettools": [str(folder) for folder in folders], **counts})


def made(*folders: Path, seed: int = 1) -> Network:
    """The network that is written of ``folders``, as it is read."""
    directory = folders[0].parent / "network"
    write_network_of(config(*folders), seed, directory)
    return read_network(directory, latency=False)[0]


def test_hosts_and_their_rates(folder: Path) -> None:
    network = made(folder)
    assert [relay.name for relay in network.relays] == list(RELAYS)
    assert [relay.consensus_weight for relay in network.relays] == list(RELAYS.values())
    relay = network.relays[0]
    assert (relay.rate_bytes_per_s, relay.burst_bytes) == (400_000, 800_000)
    assert relay.capacity_bytes_per_s == 1_000_000
    assert [host.name for host in network.authorities] == list(AUTHORITIES)
    assert {client.name: client.kind for client in network.clients} == dict(
        zip(CLIENTS, ("perf", "onion", "markov"), strict=True)
    )
    assert [server.name for server in network.servers] == list(SERVERS)


@pytest.mark.parametrize(
    ("lines", "rate", "burst"),
    [
        ("BandwidthRate 100 KBytes", 102_400, 800_000),
        ("BandwidthRate 800 KBits\nBandwidthBurst 1.5 MB", 102_400, 1_572_864),
        ("BandwidthRate 1MBits", 131_072, 800_000),
        ("\tbandwidthrate\t100000 # slow", 100_000, 800_000),
        ('BandwidthRate "100000"', 100_000, 800_000),
        ("RelayBandwidthRate 100000", 100_000, 100_000),
        ("RelayBandwidthRate 500000\nRelayBandwidthBurst 600000", 400_000, 600_000),
    ],
)
def test_a_rate_is_read_as_tor_reads_it(folder: Path, lines: str, rate: int, burst: int) -> None:
    """The network's torrc-defaults have a BandwidthRate of 400000 and a BandwidthBurst of 800000."""
    (folder / "shadow.data.template/hosts/relay2exit/torrc").write_text(f"{lines}\n")
    relay = made(folder).relays[1]
    assert (relay.name, relay.rate_bytes_per_s, relay.burst_bytes) == ("relay2exit", rate, burst)


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        (
            "relay2exit/torrc",
            "BandwidthRate 10 fast\n",
            "BandwidthRate: is no number of bytes, got '10 fast'",
        ),
        ("bwauthority/v3bw.init.consensus", "946684801\n", "v3bw: relay1exitguard: has no weight"),
    ],
)
def test_a_relay_without_a_rate_or_a_weight_is_refused(folder: Path, file: str, text: str, said: str) -> None:
    (folder / "shadow.data.template/hosts" / file).write_text(text)
    with pytest.raises(InputError, match=said):
        made(folder)


def test_a_process_may_stand_for_any_number_of_users(folder: Path) -> None:
    """As ``tornettools generate --process_scale 0.002`` has it."""
    host = "  server1exit:\n    network_node_id: 0\n    bandwidth_down: "
    _rewrite(f"{host}8000 kilobit\n", f"{host}2500000000 kilobit\n")(folder)
    assert made(folder).servers[0].down_bytes_per_s == 312_500_000_000


@pytest.mark.parametrize(
    ("size", "told"),
    [("50 KiB", ""), ("51200 bytes", ""), ("10 MiB", "got '10485760 B'"), ("much", "got 'much'")],
)
def test_perf_clients_download_the_sizes_that_tables_have(folder: Path, size: str, told: str) -> None:
    graph = graphml(
        {"start": {"peers": "server1exit:80"}, "stream": {"recvsize": size}}, [("start", "stream")]
    )
    (folder / "conf/tgen.graphml").write_text(graph)
    if not told:
        assert read_tornet(folder)
        return
    with pytest.raises(InputError, match=f"tgen.graphml: recvsize: is a size that no perf client.*{told}"):
        read_tornet(folder)


def test_hosts_are_chosen_as_in_any_network(folder: Path) -> None:
    exits = Where(role="relay", position=("exit", "guard_exit"))
    assert hosts_of(made(folder), exits, "options", "on") == ("relay1exitguard", "relay2exit")


def test_seeds_take_turns_at_several_networks(tmp_path: Path) -> None:
    folders = [write_tornet(tmp_path / name) for name in ("a", "b")]
    (folders[1] / "conf/tor.client.torrc").write_text("SocksPort 9051\n")
    found = [made(*folders, seed=seed).tornettools for seed in (1, 2, 3)]
    assert found[0] == found[2] != found[1]


@pytest.mark.parametrize(
    ("engine", "keys", "said"),
    [
        ("cellsim", {}, "only Shadow runs it.*accepted: engine shadow"),
        ("emulation", {}, "only Shadow runs it.*accepted: engine shadow"),
        ("shadow", {}, "is nothing that can be changed in a network of tornettools"),
        (
            "shadow",
            {"tracing": {"packets": ["relay1exitguard"]}},
            "tracing: experiment refill_sweep traces hosts, which cannot be had",
        ),
    ],
)
def test_what_cannot_be_had_of_it_is_refused(
    folder: Path, engine: str, keys: dict[str, object], said: str
) -> None:
    made(folder)
    experiment = load_experiment("refill_sweep", keys)
    variant = experiment.variant("")
    settings = run_settings(experiment, engine, "today", variant)
    with pytest.raises(InputError, match=said):
        build_run(settings, variant, folder.parent / "network", folder.parent / "run")
