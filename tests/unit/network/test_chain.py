"""A network that is one path: its relays have the rates they were given."""

from __future__ import annotations

from torsweep.config.network import load_network_config
from torsweep.network.relays import only_paths
from torsweep.network.sampling import SampledNetwork, input_paths, sample_network


def _sampled(seed: int, **overrides: object) -> SampledNetwork:
    return sample_network(load_network_config("starvation", overrides), seed)


def test_relays_have_the_rates_given_and_bursts_of_a_second() -> None:
    relays = _sampled(1, **{"chain.middle": "75 KiB/s"}).network.relays
    assert [relay.position for relay in relays] == ["guard", "middle", "exit"]
    assert [relay.rate_bytes_per_s for relay in relays] == [630 * 1024, 75 * 1024, 720 * 1024]
    assert all(relay.burst_bytes == relay.rate_bytes_per_s and relay.bucket_binds for relay in relays)
    assert not any(relay.rate_floored for relay in relays)


def test_the_middle_changes_nothing_else() -> None:
    slow, fast = (_sampled(2, **{"chain.middle": rate}) for rate in ("75 KiB/s", "900 KiB/s"))
    changed = {"relays", "config", "config_sha256"}
    assert slow.network.model_dump(exclude=changed) == fast.network.model_dump(exclude=changed)
    assert (slow.matrix_us == fast.matrix_us).all()
    assert [relay.refill_phase for relay in slow.network.relays] == [
        relay.refill_phase for relay in fast.network.relays
    ]


def test_clients_have_the_rate_given_and_only_used_tables_are_read() -> None:
    network = _sampled(1).network
    assert [(client.up_bytes_per_s, client.down_bytes_per_s) for client in network.clients] == [
        (12_500_000, 12_500_000)
    ]
    assert set(network.inputs_sha256) == {"latency"}
    assert set(input_paths(load_network_config("starvation"))) == {"latency"}
    assert set(input_paths(load_network_config("paper"))) == {"relays", "bandwidth", "latency"}


def test_only_a_chain_gives_paths(sampled: SampledNetwork) -> None:
    assert only_paths(_sampled(1).network) == {"bulk1": (("relay1", "relay2", "relay3"),)}
    assert only_paths(sampled.network) is None
