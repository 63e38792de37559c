"""The pages of the reference are those that the declarations give, and every row of them says something."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw

from docs.generate.__main__ import FOLDER, NOTEBOOK, SCHEMA, pages
from docs.generate.thumbnails import WIDTH_PX, shrink

ROOT = SCHEMA.parents[1]


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    return {str(file.relative_to(ROOT)): text for file, text in pages()}


def test_the_committed_pages_are_up_to_date(generated):
    files = (*FOLDER.glob("*.md"), *ROOT.glob("experiments/*/reference.md"), NOTEBOOK, SCHEMA)
    committed = {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in files}
    assert committed == generated, "out of date: run `make reference`"


def test_a_thumbnail_keeps_the_colours_of_thin_lines(tmp_path):
    blue, green, orange = (0, 114, 178), (0, 158, 115), (213, 94, 0)
    figure = Image.effect_noise((2 * WIDTH_PX, 800), 60).convert("RGB")
    draw = ImageDraw.Draw(figure)
    for place, colour in enumerate((blue, green, orange)):
        draw.line([(0, 100 + 200 * place), (2 * WIDTH_PX, 100 + 200 * place)], fill=colour, width=6)
    figure.save(tmp_path / "figure.png")
    shrink(tmp_path / "figure.png", tmp_path / "small.png")
    small = Image.open(tmp_path / "small.png").convert("RGB")
    assert small.size == (WIDTH_PX, 400)
    for place, colour in enumerate((blue, green, orange)):
        seen = small.getpixel((WIDTH_PX // 2, 51 + 100 * place))
        assert max(abs(one - other) for one, other in zip(seen, colour, strict=True)) < 32
