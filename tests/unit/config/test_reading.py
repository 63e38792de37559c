"""What is wrong in a YAML file is said in one line that names the place."""

from __future__ import annotations

import re

import pytest

from torsweep.config.option_bundle import Where
from torsweep.config.reading import Section, apply_overrides, suggestion, validate
from torsweep.errors import InputError
from torsweep.formats.yaml_file import read_yaml


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("relays: 50\nrelays: 60\n", "line 2: is not valid YAML: key 'relays' is given twice"),
        ("a: {x: 1,\n  x: 2}\n", "line 2: is not valid YAML: key 'x' is given twice"),
        ("relays: [1, 2\nservers: 3\n", "line 2: is not valid YAML"),
        ("relays: 'open\n", "is not valid YAML"),
        ("? [1, 2]\n: 3\n", "line 1: is not valid YAML: a key that is neither text nor number"),
        ("- relays\n", "expected a mapping of keys to values at the top, found list"),
        ("", "found nothing"),
        ("a: &a [*a]\nb: !!python/object:os.system {}\n", "line 1: is not valid YAML: found"),
    ],
)
def test_broken_yaml_is_one_line_with_its_place(tmp_path, text, said):
    file = tmp_path / "broken.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as refusal:
        read_yaml(file)
    message = str(refusal.value)
    assert message.startswith(f"{file}: ")
    assert said in message
    assert "\n" not in message


def test_a_file_that_is_missing_binary_or_a_folder_is_said_so(tmp_path):
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    for path, said in [
        (tmp_path / "none.yaml", "no such file"),
        (binary, "is not UTF-8 text"),
        (tmp_path, "is a folder"),
    ]:
        with pytest.raises(InputError, match=said):
            read_yaml(path)


def test_overrides_reach_into_sections_and_leave_the_original_alone():
    document = {"relays": 50, "traffic": {"web": {"response": "300 KiB"}}}
    changed = apply_overrides(
        document, {"relays": "20", "traffic.web.response": "1 MiB", "positions.guard": "4"}
    )
    assert changed == {
        "relays": 20,
        "traffic": {"web": {"response": "1 MiB"}},
        "positions": {"guard": 4},
    }
    assert document == {"relays": 50, "traffic": {"web": {"response": "300 KiB"}}}


def test_an_override_below_a_value_is_refused():
    with pytest.raises(InputError, match=r"relays\.x: 'relays' holds a value, not keys"):
        apply_overrides({"relays": 50}, {"relays.x": "1"})


def test_only_a_close_name_is_suggested():
    assert suggestion("relayz", ["relays", "servers"]) == " (did you mean 'relays'?)"
    assert suggestion("best", ["starvation", "best_level"]) == " (did you mean 'best_level'?)"
    assert suggestion("xyz", ["relays", "servers"]) == ""
    assert suggestion("", ["relays", "servers"]) == ""


class Pair(Section):
    first: int
    second: int


@pytest.mark.parametrize(
    ("kind", "document", "said"),
    [
        (Where, {"role": "relay", "id": 1}, "id: unknown key; accepted: role, position, kind, share, names"),
        (Where, {"role": "relai"}, "role: is not accepted (did you mean 'relay'?), got 'relai'; accepted: "),
        (Where, {"role": "xyz"}, "role: is not accepted, got 'xyz'"),
        (Pair, {"frist": 1, "second": 2}, "frist: unknown key (did you mean 'first'?); accepted: first, sec"),
        (Pair, {"frist": 1}, "frist: unknown key (did you mean 'first'?) (and 1 other mistake); accepted"),
        (Pair, {"xyz": 1}, "xyz: unknown key (and 2 other mistakes); accepted"),
    ],
)
def test_the_closest_name_is_said_and_a_misspelt_key_is_one_mistake(kind, document, said):
    with pytest.raises(InputError, match=re.escape(said)):
        validate(kind, document, None)
