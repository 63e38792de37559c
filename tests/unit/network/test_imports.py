"""Importers of client bandwidths and relays, on small files made in each format."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tarfile
from pathlib import Path

import polars
import pytest

from tests.directory_texts import consensus_text, descriptor_text
from torsweep.config.eras import ERAS_DIRECTORY, EraConsensus, era_consensus
from torsweep.errors import InputError
from torsweep.network.clients import BANDWIDTH_FILE, import_bandwidth, read_bandwidth
from torsweep.network.relays import POPULATION_FILE, Population, read_population
from torsweep.network.relays_import import ERA_FILE, import_relays
from torsweep.network.sampling import sample_network

TILES = {
    "avg_d_kbps": [1_000, 50_000, 100_000],
    "avg_u_kbps": [500, 10_000, 40_000],
    "avg_lat_ms": [50, 20, 5],
    "tests": [1, 98, 1],
    "devices": [1, 9, 1],
    "quadkey": ["0", "1", "2"],
}


def medians(out: Path) -> float:
    return float(read_bandwidth(out / BANDWIDTH_FILE).down[50]) / 125


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tiles_count_by_their_tests_and_are_used(tmp_path, suffix, configured):
    file, frame = tmp_path / f"tiles.{suffix}", polars.DataFrame(TILES)
    frame.write_csv(file) if suffix == "csv" else frame.write_parquet(file)
    import_bandwidth(file, tmp_path / "out")
    assert medians(tmp_path / "out") == pytest.approx(50_000, rel=0.02)
    config = configured(web_clients=9, bulk_clients=0, client_bandwidth={"file": str(tmp_path / "out")})
    assert len(sample_network(config, 1).network.clients) == 9


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("avg_d_kbps,tests\n1,1\n", "columns are missing"),
        ("avg_d_kbps,avg_u_kbps,tests\n", "no region"),
        ("avg_d_kbps,avg_u_kbps,tests\nfast,1,1\n", "no number in range, got 'fast'"),
        ("avg_d_kbps,avg_u_kbps,tests\n1,-1,1\n", "row 1, avg_u_kbps: is no number in range, got '-1'"),
        ("avg_d_kbps,avg_u_kbps,tests\n1e12,1,1\n", "row 1, avg_d_kbps: is no number in range"),
    ],
)
def test_bad_bandwidths_are_refused(tmp_path, text, said):
    file = tmp_path / "speeds"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        import_bandwidth(file, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def staged(**changes: object) -> dict:
    relay = {
        "bandwidth_capacity": 2_000_000,
        "bandwidth_rate": 1_000_000,
        "bandwidth_burst": 1_500_000,
        "weight": 0.25,
        "running_frequency": 1.0,
        "guard_frequency": 0.0,
        "exit_frequency": 0.0,
    }
    return relay | changes


STAGED = {
    "relays": {
        "A": staged(guard_frequency=0.9),
        "B": staged(exit_frequency=0.9),
        "C": staged(guard_frequency=0.9, exit_frequency=0.9),
        "D": staged(),
        "E": staged(bandwidth_capacity=0),
    }
}


def test_staged_relays_keep_rates_and_positions_and_lose_names(tmp_path):
    file = tmp_path / "relayinfo.json"
    file.write_text(json.dumps(STAGED))
    lines = import_relays(file, "relayinfo", tmp_path / "out")
    population = read_population(tmp_path / "out" / POPULATION_FILE)
    assert lines[0].startswith("relays: 4;")
    assert {relay.position for relay in population.relays} == {"guard", "exit", "guard_exit", "middle"}
    assert population.relays[0][2:] == (2_000_000, 1_000_000, 1_500_000)
    assert population.weight_share == {"guard_exit": 0.2, "exit": 0.2, "guard": 0.2, "middle": 0.4}


def joined(documents: tuple[Path, Path]) -> Population:
    """The population that is imported of a consensus and descriptors."""
    consensus, descriptors = documents
    out = consensus.parent / "out"
    import_relays(consensus, "consensus", out, descriptors)
    return read_population(out / POPULATION_FILE)


def refused(documents: tuple[Path, Path], said: str) -> None:
    """Importing ``documents`` is refused, and nothing is written."""
    consensus, descriptors = documents
    with pytest.raises(InputError, match=said):
        import_relays(consensus, "consensus", consensus.parent / "out", descriptors)
    assert not (consensus.parent / "out").exists()


@pytest.fixture
def documents(tmp_path: Path) -> tuple[Path, Path]:
    consensus, descriptors = tmp_path / "consensus", tmp_path / "descriptors"
    consensus.write_text(consensus_text())
    descriptors.mkdir()
    for number in range(4):
        (descriptors / f"old{number}").write_text(descriptor_text(number, 1, 10_000, 11_000))
        (descriptors / f"new{number}").write_text(descriptor_text(number, 9, 20_000, 50_000 + number))
    return consensus, descriptors


def test_a_consensus_is_joined_with_the_latest_descriptors_before_it(tmp_path, documents):
    population = joined(documents)
    assert [relay.position for relay in population.relays] == ["exit", "guard", "guard_exit", "middle"]
    assert {relay[2:] for relay in population.relays} == {(50_000 + n, 20_000, 40_000) for n in range(4)}
    assert population.weight_share == {"guard_exit": 0.1, "exit": 0.25, "guard": 0.5, "middle": 0.15}
    text = (tmp_path / "out" / POPULATION_FILE).read_text()
    assert "10.0.0" not in text
    assert "0" * 20 not in text


def test_shares_of_weight_are_of_all_relays_of_the_consensus(tmp_path, documents):
    for file in documents[1].glob("*2"):
        file.unlink()
    (first, *_) = import_relays(documents[0], "consensus", tmp_path / "out", documents[1])
    assert first.startswith("relays: 3; without a weight, a rate or a descriptor: 1")
    population = read_population(tmp_path / "out" / POPULATION_FILE)
    assert population.weight_share == {"guard_exit": 0.1, "exit": 0.25, "guard": 0.5, "middle": 0.15}


def test_descriptors_of_few_relays_are_refused(tmp_path, documents):
    for file in documents[1].glob("*[02]"):
        file.unlink()
    refused(documents, r"too few relays, got '2 of 4 relays, 35\.0 % of consensus weight'")
    few = STAGED["relays"] | {f"no rate {n}": staged(bandwidth_capacity=0) for n in range(4)}
    file = tmp_path / "relayinfo.json"
    file.write_text(json.dumps({"relays": few}))
    with pytest.raises(InputError, match="4 of 9 relays, 44"):
        import_relays(file, "relayinfo", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_descriptor_that_the_consensus_names_goes_first_and_later_ones_do_not_count(
    documents,
):
    """Of relay 0, the consensus names a descriptor that is neither its newest nor its only one."""
    consensus, descriptors = documents
    old = descriptor_text(0, 1, 10_000, 11_000)
    signed = old[old.index("router ") : old.index("-----BEGIN")].encode()
    digest = base64.b64encode(hashlib.sha1(signed).digest()).decode().rstrip("=")
    consensus.write_text(consensus.read_text().replace("B" * 27, digest, 1))
    for number in range(4):
        (descriptors / f"later{number}").write_text(descriptor_text(number, 11, 70_000, 70_000))
    observed = {relay.consensus_weight: relay.capacity_bytes_per_s for relay in joined(documents).relays}
    assert observed == {100: 11_000, 50: 50_001, 30: 50_002, 20: 50_003}


@pytest.mark.parametrize(
    ("hour", "observed", "weight", "said"),
    [
        (11, 50_000, None, "later than the consensus; accepted: to 2012-04-04 10:00:00"),
        (9, 0, None, "states a rate that it has observed"),
        (9, 50_000, 0, "gives no running relay a weight"),
    ],
)
def test_a_consensus_without_a_usable_relay_is_refused_by_its_cause(
    tmp_path, documents, hour, observed, weight, said
):
    consensus, _ = documents
    if weight is not None:
        consensus.write_text(re.sub(r"Bandwidth=\d+", f"Bandwidth={weight}", consensus.read_text()))
    descriptors = tmp_path / "one"
    descriptors.write_text("".join(descriptor_text(n, hour, 20_000, observed) for n in range(4)))
    refused((consensus, descriptors), said)


def test_a_descriptor_that_was_cut_off_is_refused(documents):
    whole = descriptor_text(1)
    (documents[1] / "new1").write_text(whole[: whole.index("router-signature")])
    refused(documents, "new1: relay1: is cut off")


def test_the_parameters_of_a_consensus_become_the_era_of_a_study(tmp_path, documents, monkeypatch):
    consensus, _ = documents
    stated = "params KISTSchedRunInterval=7 bwauthpid=1\nknown-flags"
    consensus.write_text(consensus.read_text().replace("known-flags", stated))
    joined(documents)
    (tmp_path / ERAS_DIRECTORY).mkdir(parents=True)
    (tmp_path / "out" / ERA_FILE).rename(tmp_path / ERAS_DIRECTORY / ERA_FILE)
    monkeypatch.chdir(tmp_path)
    assert era_consensus("today") == EraConsensus(
        valid_after="2012-04-04 10:00:00",
        source=consensus.name,
        parameters={"KISTSchedRunInterval": 7, "bwauthpid": 1},
    )


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_a_month_is_read_as_it_is_packed_whatever_its_contacts_are_written_in(tmp_path, documents, mode):
    consensus, descriptors = documents
    for file in descriptors.iterdir():
        file.write_bytes(
            file.read_bytes().replace(b"uptime", "contact J\u00fcrgen\nuptime".encode("latin-1"))
        )
    month = tmp_path / "server-descriptors-2012-04.tar.xz"
    with tarfile.open(month, mode) as archive:
        archive.add(descriptors, "server-descriptors-2012-04")
    for source in (descriptors, month):
        found = {relay[2:] for relay in joined((consensus, source)).relays}
        assert found == {(50_000 + n, 20_000, 40_000) for n in range(4)}
    whole = month.read_bytes()
    month.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"cut off|damaged|not a file of server descriptors"):
        import_relays(consensus, "consensus", tmp_path / "out", month)


@pytest.mark.parametrize(
    ("pattern", "text", "message"),
    [
        ("network-status-version 3", "network-status-version 2", "is not a network consensus"),
        ("r relay1 .{27} ", "r relay1 !!!! ", "is no network consensus: Decoded '!!!!'"),
        ("s BadExit Exit Fast Running Valid\n", "", "is no network consensus: .*must have a 's' line"),
        ("valid-after .*\n", "", "is no network consensus: .*valid-after"),
    ],
)
def test_a_consensus_of_another_kind_is_refused(documents, pattern, text, message):
    documents[0].write_text(re.sub(pattern, text, documents[0].read_text()))
    refused(documents, message)


def test_bad_directory_documents_are_refused(tmp_path, documents):
    consensus, descriptors = documents
    cut = tmp_path / "cut"
    cut.write_text(consensus.read_text()[:900])
    cases = [
        (cut, "consensus", descriptors, "is cut off"),
        (consensus, "consensus", None, "needs its server descriptors"),
        (descriptors / "new1", "consensus", descriptors, "is not a network consensus"),
        (consensus, "consensus", consensus, "no descriptor is of a relay|not a file of server descriptors"),
        (consensus, "relayinfo", None, "is no whole JSON file"),
        (tmp_path / "nowhere", "relayinfo", None, "no such file"),
        (consensus, "votes", None, "no such format"),
    ]
    for file, file_format, others, said in cases:
        with pytest.raises(InputError, match=said):
            import_relays(file, file_format, tmp_path / "out", others)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("rate", ["-5", "inf", "1e9", "0x10", ""])
def test_a_rate_that_is_none_is_refused(documents, rate):
    consensus, descriptors = documents
    whole = consensus.read_text()
    consensus.write_text(re.sub(r"Bandwidth=\d+", f"Bandwidth={rate}", whole, count=1))
    refused(documents, r"is no network consensus: .*Bandwidth=")
    consensus.write_text(whole)
    file = next(file for file in sorted(descriptors.rglob("*")) if file.is_file())
    file.write_text(re.sub(r"^bandwidth \d+", f"bandwidth {rate}x", file.read_text(), count=1, flags=re.M))
    refused(documents, r"relay\d: bandwidth: is no rate")


def test_relays_that_make_no_network_are_refused(tmp_path):
    file = tmp_path / "relayinfo.json"
    file.write_text(json.dumps({"relays": {"A": staged(guard_frequency=1.0)}}))
    with pytest.raises(InputError, match="no relay of it can be an exit"):
        import_relays(file, "relayinfo", tmp_path / "out")
