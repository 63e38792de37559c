"""The picture of a network: the same bytes each time, legible letters, nothing of others replaced."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text
from PIL import Image

from plotting.drawing.style import COLUMN_WIDTH_IN, SMALL_PT, style
from plotting.pictures.network import draw, draw_picture
from torsweep.config.network import NetworkConfig
from torsweep.errors import OutputError
from torsweep.network.model import read_network, write_network
from torsweep.network.picture import BUSIEST_PAIRS, PICTURE_SIGNATURE, picture_of, plane
from torsweep.network.sampling import sample_network


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    counts = {"relays": 10, "web_clients": 40, "bulk_clients": 4, "servers": 8}
    sampled = sample_network(NetworkConfig.model_validate(counts), seed=1)
    made = tmp_path_factory.mktemp("networks") / "1"
    write_network(sampled.network, sampled.matrix_us, made)
    return made


@pytest.mark.parametrize("kind", ["pdf", "png", "svg"])
def test_the_same_bytes_each_time(folder: Path, tmp_path: Path, kind: str) -> None:
    files = [tmp_path / f"{name}.{kind}" for name in "ab"]
    for file in files:
        draw_picture(folder, file)
    content = files[0].read_bytes()
    assert content == files[1].read_bytes()
    assert PICTURE_SIGNATURE.encode() in content
    assert not re.search(rb"CreationDate|<dc:date>", content)
    # One that this program made before is replaced.
    draw_picture(folder, files[0])


def test_the_page_finds_title_and_words_in_the_png(folder: Path, tmp_path: Path) -> None:
    draw_picture(folder, tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as image:
        image.load()
        texts = image.info
    assert texts["Title"] == "The network"
    assert texts["Comment"].startswith("Hosts stand at places.")
    assert "10 relays, 44 clients, 8 servers" in texts["Description"]


def test_print_size_and_letters(folder: Path) -> None:
    network, latencies = read_network(folder)
    with style():
        figure, _ = draw(network, picture_of(network, latencies))
        figure.draw_without_rendering()
        texts = [text for text in figure.findobj(Text) if text.get_text().strip()]
        assert all(text.get_fontsize() >= SMALL_PT for text in texts)
        edges = figure.get_tightbbox().extents
    assert figure.get_figwidth() == COLUMN_WIDTH_IN
    assert edges[0] > -0.02
    assert edges[2] < COLUMN_WIDTH_IN + 0.02


def test_what_is_no_picture_of_a_network_stays(folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.pdf"
    mine.write_text("years of work")
    with pytest.raises(OutputError, match="accepted: a new file"):
        draw_picture(folder, mine)
    assert mine.read_text() == "years of work"


def test_the_command_draws_the_kinds_that_there_are(torsweep: Any, folder: Path, tmp_path: Path) -> None:
    code, _, error = torsweep("network", "draw", folder, "--out", tmp_path / "a.gif")
    assert code == 2
    assert "accepted: .pdf, .png, .svg" in error
    assert torsweep("network", "draw", folder, "--out", tmp_path / "a.svg")[0] == 0
    assert (tmp_path / "a.svg").is_file()


def test_places_of_a_plane_are_found_again_beside_a_few_that_seem_far_apart() -> None:
    random = np.random.default_rng(1)
    placed_ms = random.uniform(0, 100, (60, 2))
    apart_ms = np.hypot(*(placed_ms[:, None] - placed_ms).T)
    measured_ms = apart_ms + 5 * np.eye(60)
    for one, other in ((3, 17), (20, 41), (5, 52)):
        measured_ms[one, other] = measured_ms[other, one] = 5_000
    measured_us = (measured_ms * 1000).astype(np.int32)
    found_ms = plane(measured_us, measured_us[:0])
    again_ms = np.hypot(*(found_ms[:, None] - found_ms).T)
    assert np.quantile(np.abs(again_ms - apart_ms), 0.95) < 5
    assert (np.abs(found_ms).max(axis=0) == found_ms.max(axis=0)).all()


def test_other_places_stand_where_their_round_trips_put_them() -> None:
    random = np.random.default_rng(2)
    placed_ms = random.uniform(0, 100, (60, 2))
    apart_ms = np.hypot(*(placed_ms[:, None] - placed_ms).T)
    apart_us = (apart_ms * 1000).astype(np.int32)
    found_ms = plane(apart_us[:40, :40], apart_us[40:, :40])
    again_ms = np.hypot(*(found_ms[:, None] - found_ms).T)
    assert found_ms.shape == (60, 2)
    assert np.quantile(np.abs(again_ms - apart_ms), 0.95) < 5


def test_of_many_places_so_many_are_drawn_those_with_hosts_first(folder: Path) -> None:
    network, latencies = read_network(folder)
    held = np.unique(latencies.place)
    whole, most = picture_of(network, latencies), len(held) + 5
    assert most < len(latencies.matrix_us)
    picture = picture_of(network, latencies, most)
    assert (picture.places.height, picture.all_places) == (most, len(latencies.matrix_us))
    again_ms = plane(latencies.matrix_us[np.ix_(held, held)], latencies.matrix_us[:0, held])
    of_hosts = picture_of(network, latencies, len(held))
    np.testing.assert_allclose(of_hosts.places.to_numpy(), again_ms)
    with style():
        assert f", {whole.all_places:,} places. Map: {most:,} of the places by" in draw(network, picture)[1]
        assert "Map: places by" in draw(network, whole)[1]


def test_relays_at_places_that_are_left_out_are_drawn(folder: Path) -> None:
    network, latencies = read_network(folder)
    whole = picture_of(network, latencies).relays
    few = picture_of(network, latencies, 12)
    assert few.places.height == 12
    assert few.relays["name"].to_list() == whole["name"].to_list()
    at_ms = [relays.select("x_ms", "y_ms").to_numpy() for relays in (whole, few.relays)]
    assert np.isfinite(at_ms[1]).all()
    apart_ms = [np.hypot(*(own[:, None] - own).T)[np.triu_indices(len(own), 1)] for own in at_ms]
    assert np.corrcoef(apart_ms)[0, 1] > 0.7


def test_the_picture_has_every_relay_and_the_likeliest_pairs(folder: Path) -> None:
    network, latencies = read_network(folder)
    picture = picture_of(network, latencies)
    assert picture.relays["name"].sort().to_list() == sorted(relay.name for relay in network.relays)
    assert picture.relays["capacity_share"].sum() == pytest.approx(1)
    assert picture.places.height == len(latencies.matrix_us)
    assert picture.pairs.group_by("hop").len()["len"].max() <= BUSIEST_PAIRS
    assert all(0 < share <= 1 + 1e-9 for share in picture.drawn_share.values())
    for (_, _), points in picture.curves.group_by("panel", "what", maintain_order=True):
        assert points["value"].is_sorted() and points["share"].is_sorted()
