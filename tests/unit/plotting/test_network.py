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
from plotting.network import draw, main
from torsweep.config.network import NetworkConfig
from torsweep.network.model import read_network, write_network
from torsweep.network.picture import BUSIEST_PAIRS, SIGNATURE, picture_of, plane
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
        assert main([str(folder), f"--out={file}"]) == 0
    content = files[0].read_bytes()
    assert content == files[1].read_bytes()
    assert SIGNATURE.encode() in content
    assert not re.search(rb"CreationDate|<dc:date>", content)
    # One that this program made before is replaced.
    assert main([str(folder), f"--out={files[0]}"]) == 0


def test_the_page_finds_title_and_words_in_the_png(folder: Path, tmp_path: Path) -> None:
    assert main([str(folder), f"--out={tmp_path / 'a.png'}"]) == 0
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


def test_what_is_no_picture_of_a_network_stays(folder: Path, tmp_path: Path, capfd: Any) -> None:
    mine = tmp_path / "mine.pdf"
    mine.write_text("years of work")
    assert main([str(folder), f"--out={mine}"]) == 2
    assert "accepted: a new file" in capfd.readouterr().err
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
    found_ms = plane((measured_ms * 1000).astype(np.int32))
    again_ms = np.hypot(*(found_ms[:, None] - found_ms).T)
    assert np.quantile(np.abs(again_ms - apart_ms), 0.95) < 5
    assert (np.abs(found_ms).max(axis=0) == found_ms.max(axis=0)).all()


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
