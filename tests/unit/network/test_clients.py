"""Access links of clients: quantiles, correlation, prefixes, refused tables."""

from __future__ import annotations

import numpy as np
import pytest

from torsweep.config.network import InputSource
from torsweep.network.clients import (
    BANDWIDTH_FILE,
    ClientBandwidth,
    read_bandwidth,
    sample_client_rates,
    table_of_regions,
    write_bandwidth,
)
from torsweep.network.sampling import BANDWIDTH_TABLES, sample_network, source_path


@pytest.fixture(scope="module")
def net_index() -> ClientBandwidth:
    return read_bandwidth(source_path(InputSource(name="netindex-2012"), BANDWIDTH_TABLES, BANDWIDTH_FILE))


def test_rates_spread_around_those_of_the_regions(net_index):
    down, up = sample_client_rates(net_index, 50_000, 1, "web")
    regional = np.interp(np.linspace(0, 1, 5_001), np.linspace(0, 1, 101), net_index.down)
    # The spread within a region has mean 1: it widens the distribution and keeps its mean.
    assert down.mean() == pytest.approx(regional.mean(), rel=0.03)
    assert np.quantile(down, 0.9) / np.quantile(down, 0.1) > net_index.down[90] / net_index.down[10]
    ranks = [np.argsort(np.argsort(rates)) for rates in (down, up)]
    assert np.corrcoef(*ranks)[0, 1] > 0.7


def test_a_smaller_network_has_the_first_clients_of_a_larger_one(configured):
    half = sample_network(configured(load=0.5), 4).network
    whole = sample_network(configured(load=1), 4).network
    for kind in ("web", "bulk"):
        few, many = half.clients_of(kind), whole.clients_of(kind)
        assert len(few) == len(many) / 2
        assert few == many[: len(few)]
    assert half.relays == whole.relays
    assert half.servers == whole.servers


def test_regions_count_by_their_weight():
    down, up = np.array([100.0, 1_000.0, 10_000.0]), np.array([10.0, 100.0, 1_000.0])
    table = table_of_regions(down, up, np.array([0.1, 0.8, 0.1]), {})
    assert table.down[50] == pytest.approx(1_000)
    assert table.up_given_down[0].max() < table.up_given_down[-1].min()


def test_a_table_is_read_as_it_was_written(tmp_path, net_index):
    write_bandwidth(net_index, tmp_path / "table.json")
    found = read_bandwidth(tmp_path / "table.json")
    assert (found.down == net_index.down).all()
    assert (found.up_given_down == net_index.up_given_down).all()
    assert found.spread_sigma == net_index.spread_sigma
