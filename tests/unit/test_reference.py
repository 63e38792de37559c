"""The pages of the reference are those that the declarations give, and every row of them says something."""

from __future__ import annotations

import re

import pytest
from PIL import Image, ImageDraw

from docs.generate.__main__ import FOLDER, NOTEBOOK, pages
from docs.generate.accepted import accepted, default
from docs.generate.markdown import prose, sentence, slug, table
from docs.generate.thumbnails import WIDTH_PX, shrink


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    return {file.name: text for file, text in pages()}


def test_the_committed_pages_are_up_to_date(generated):
    committed = {file.name: file.read_text(encoding="utf-8") for file in (*FOLDER.glob("*.md"), NOTEBOOK)}
    assert committed == generated, "out of date: run `make reference`"


def test_links_within_the_reference_lead_to_headings(generated):
    for name, text in generated.items():
        for page, anchor in re.findall(r"\]\(([\w-]+\.md)?#([\w-]+)\)", text):
            headings = re.findall(r"^#+ (.*)$", generated[page or name], re.MULTILINE)
            assert anchor in map(slug, headings), (name, page, anchor)


def test_docstrings_become_markdown():
    assert prose("Of :class:`~torsweep.config.knob.Knob`\n    and ``level``.") == "Of `Knob` and `level`."
    assert sentence("what it asks") == "What it asks."
    assert table(("a", "b"), [("x|y", "z")]) == ["| a | b |", "|---|---|", "| x\\|y | z |", ""]
    assert table(("a",), []) == []
    assert slug("traffic.web, traffic.bulk") == "trafficweb-trafficbulk"


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "integer", "minimum": 0, "maximum": 1000}, "a whole number from 0 to 1,000"),
        ({"type": "integer", "minimum": 0, "exclusiveMaximum": 8}, "a whole number from 0 to 7"),
        ({"type": "string", "x-least": "0 s", "x-most": "24 h"}, "`0 s` to `24 h`"),
        ({"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]}, "`a`, `b`"),
        ({"type": "array", "items": {"$ref": "#/$defs/Part"}}, "a list of: link to Part"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "{NAME: a text}"),
        ({"type": ["string", "boolean"]}, "a text or `true`, `false`"),
    ],
)
def test_what_a_key_accepts_in_words(schema, words):
    assert accepted(schema, "link to {}".format) == words


@pytest.mark.parametrize(
    ("value", "required", "shown"),
    [
        (None, True, "required"),
        (None, False, ""),
        (False, False, "`false`"),
        ({"name": "king"}, False, "`king`"),
    ],
)
def test_defaults_are_as_a_file_has_them(value, required, shown):
    assert default({"default": value}, required) == shown


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
