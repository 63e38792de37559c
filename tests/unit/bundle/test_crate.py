"""The RO-Crate of a published result keeps the rules of version 1.2, and its citation those of CFF 1.2.0.

The rules that RO-Crate calls MUST and that a crate of files can break are tested here; with roc-validator
installed (`pip install roc-validator`) its own profile of version 1.2 is, too.
"""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import pytest

CRATE = "ro-crate-metadata.json"
CONTEXT = "https://w3id.org/ro/crate/1.2/context"
SCHEMA = "http://schema.org/"
TERMS = """CreateAction CreativeWork Dataset Person about author citation contentSize
datePublished description encodingFormat hasPart instrument keywords license mentions name result version"""


@pytest.fixture
def entities(published: Path) -> dict[str, dict[str, Any]]:
    document = json.loads((published / CRATE).read_text())
    assert document["@context"] == CONTEXT
    found = {entity["@id"]: entity for entity in document["@graph"]}
    assert len(found) == len(document["@graph"]), "an identifier stands twice"
    return found


def test_the_descriptor_says_what_it_describes_and_by_which_version(entities) -> None:
    descriptor = entities[CRATE]
    assert descriptor["@type"] == "CreativeWork"
    assert descriptor["about"] == {"@id": "./"}
    assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.2"}


def test_the_root_has_what_it_must_have(entities) -> None:
    root = entities["./"]
    assert root["@type"] == "Dataset"
    assert root["name"] and root["description"]
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", root["datePublished"])
    assert entities[root["license"]["@id"]]["name"] == "No licence is stated"
    assert [entities[author["@id"]]["name"] for author in root["author"]] == ["anonymous"]


def test_every_file_is_a_part_with_name_format_and_size(published: Path, entities) -> None:
    files = {str(file.relative_to(published)) for file in published.rglob("*") if file.is_file()}
    parts = {part["@id"] for part in entities["./"]["hasPart"]}
    assert parts == files - {CRATE, ".torsweep"}
    for name in parts:
        assert entities[name]["@type"] == "File"
        assert entities[name]["name"] and entities[name]["description"] and entities[name]["encodingFormat"]
        assert entities[name]["contentSize"] == str((published / name).stat().st_size)


def test_whatever_is_referred_to_is_described(entities) -> None:
    def references(value: Any) -> list[str]:
        if isinstance(value, list):
            return [identifier for part in value for identifier in references(part)]
        return [value["@id"]] if isinstance(value, dict) else []

    specification = "https://w3id.org/ro/crate/1.2"
    for entity in entities.values():
        for key, value in entity.items():
            assert set(references(value)) <= {*entities, specification}, key


class Context:
    """An answer with the terms of RO-Crate's context that the crate uses: no host is asked for them."""

    status_code, ok, content = 200, True, b""
    headers: ClassVar[dict[str, str]] = {"Content-Type": "application/ld+json"}

    def raise_for_status(self) -> None: ...

    def json(self) -> dict[str, Any]:
        others = {"File": f"{SCHEMA}MediaObject", "conformsTo": "http://purl.org/dc/terms/conformsTo"}
        return {"@context": {**{term: f"{SCHEMA}{term}" for term in TERMS.split()}, **others}}


if find_spec("rocrate_validator"):

    def test_the_validator_of_the_profile_finds_nothing(
        published: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from rocrate_validator import models, services
        from rocrate_validator.utils.http import HttpRequester

        def get(self: object, url: str, **_: object) -> Context:
            assert url == CONTEXT
            return Context()

        monkeypatch.setattr(HttpRequester, "get", get, raising=False)
        settings = services.ValidationSettings(
            rocrate_uri=str(published),
            profile_identifier="ro-crate-1.2",
            requirement_severity=models.Severity.REQUIRED,
        )
        found = services.validate(settings)
        assert [(issue.check.identifier, issue.message) for issue in found.get_issues()] == []
        assert len(found.executed_checks) > 50
