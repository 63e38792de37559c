"""A folder of tornettools is read as it is, or refused in one line."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.synthetic_tornet import RELAYS, write_tornet
from torsweep.errors import InputError
from torsweep.network.tornet import read_tornet, torrc_lines

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
    assert torrc_lines(tornet, "4uthority1", "log") == ["notice stdout", "warn stdout"]
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
    last = torrc_lines(read_tornet(folder), "4uthority1", "ConsensusParams")[-1]
    assert last.split() == ["cc_alg=2", "circwindow=500"]


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


def _rewrite(old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        file = folder / "shadow.config.yaml"
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    return change


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda f: (f / "shadow.config.yaml").unlink(), "shadow.config.yaml: no such file: tornettools"),
        (lambda f: shutil.rmtree(f / "conf"), "conf: no such folder: the network is not whole"),
        (lambda f: shutil.rmtree(f / "shadow.data.template"), "hosts: no such folder: the network is not"),
        (lambda f: (f / "conf/graph.gml.xz").unlink(), "graph.gml.xz: no such file: the graph"),
        (
            lambda f: (f / "shadow.data.template/hosts/relay2exit/keys/secret_id_key").unlink(),
            "relay2exit/keys/secret_id_key: no such file: the data of a host is missing",
        ),
        (lambda f: (f / "shadow.config.yaml").write_text("general: ["), "is not valid YAML"),
        (lambda f: (f / "shadow.config.yaml").write_text("general: {}\n"), "hosts: is not as tornettools"),
        (_rewrite("relay2exit:", "exit2:"), "hosts.exit2: is not as tornettools generate writes it"),
        (_rewrite(" --defaults-torrc torrc-defaults -f torrc", " -f tor.torrc"), "is not as tornettools"),
        (_rewrite("path: ~/.local/bin/tgen", "name: tgen"), "hosts.server1exit: is not as tornettools"),
        (_rewrite("network:\n", "network:\nother:\n"), "network: is not as tornettools"),
        (_rewrite("    file:\n", "    file:\n    other:\n"), "network.graph: is not as tornettools"),
        (_rewrite("hosts:\n", "experimental: [1]\nhosts:\n"), "experimental: is not as tornettools"),
        (_rewrite(": shadow.data.template", ": /elsewhere"), "general.template_directory: is not as"),
        (_rewrite("40 min", "soon"), "general.stop_time: is no time, got 'soon'"),
        (_rewrite("40 min", "9" * 30), "general.stop_time: is no time"),
        (_rewrite("40 min", "2012-13-45"), "is not valid YAML: month must be in 1..12"),
        (_rewrite("general:\n", f"general:\n  seed: {'9' * 5000}\n"), "is not valid YAML: Exceeds the limit"),
    ],
)
def test_what_is_missing_is_said_in_one_line(folder: Path, damage: Callable[[Path], None], told: str) -> None:
    damage(folder)
    with pytest.raises(InputError) as refused:
        read_tornet(folder)
    assert told in str(refused.value)
