"""The keys of configuration files: a page for each kind of file.

In: the models of :mod:`torsweep.config`, as their JSON schema. Out: pages, with a section for each part of a
file, headed by the keys below which it stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import TypeAdapter

from docs.generate.accepted import Schema, accepted, default
from docs.generate.markdown import code, prose, sentence, slug, table
from docs.generate.schema import schema
from torsweep.config import traffic
from torsweep.config.network import NetworkConfig
from torsweep.config.overrides import Overrides
from torsweep.stats.claims import Claim, ClientClaim, claim_tests

HEADINGS = ("key", "meaning", "accepts", "default")
CLAIMS = "Claims"
_COMMON = frozenset(key for kind in (Claim, ClientClaim) for key in kind.model_fields)


def experiment_page() -> list[str]:
    """The keys of experiment.yaml."""
    intro = [
        "`experiments/NAME/experiment.yaml`, of the checkout or of a study: [how to write one]",
        "(../how-to/add-an-experiment.md), [knobs and their levels](knobs.md), [figures](figures.md).",
    ]
    sections = schema()["$defs"]
    file = File({**sections["Experiment"], "$defs": sections})
    lines = ["# Keys of an experiment", "", "".join(intro), ""]
    for name, section in file.sections():
        claim = section.get("properties", {}).get("test")
        if claim is None:
            lines += file.section(name, section)
    return [*lines, *_claims(file)]


def network_page() -> list[str]:
    """The keys of a network."""
    intro = (
        "`configs/networks/NAME.yaml`, of the checkout or of a study. The key `network` of an experiment"
        " names it."
    )
    file = File(TypeAdapter(NetworkConfig).json_schema())
    lines = ["# Keys of a network", "", intro, ""]
    for name, section in file.sections():
        lines += file.section(name, section)
    return lines


def quantiles_page() -> list[str]:
    """The keys of a table of quantiles."""
    intro = (
        "`configs/quantiles/NAME.yaml`, of the checkout or of a study: what sizes, pauses and numbers of"
        " objects are drawn from."
        " [How to use one](../how-to/add-an-experiment.md#sizes-pauses-and-pages)"
    )
    lines = ["# Keys of a table of quantiles", "", intro, ""]
    for kind in (traffic._Sizes, traffic._Pauses, traffic._Counts):
        file = File(TypeAdapter(kind).json_schema())
        lines += [f"## {kind.__name__.lstrip('_')}", "", *file.table(file.schema)]
    return lines


def overrides_page() -> list[str]:
    """The keys of ``--config``."""
    intro = (
        "`snakemake TARGET --config KEY=VALUE …` or `make TARGET CONFIG='KEY=VALUE …'`. What is left out is"
        " as the experiment says."
    )
    file = File(TypeAdapter(Overrides).json_schema())
    rows = file.table(file.schema)
    lines = ["# Keys of `--config`", "", intro, "", *rows]
    for name, section in file.sections():
        if name:
            lines += file.section(name, section)
    return lines


class File:
    """A schema, and where its sections stand in a file."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.parts: Mapping[str, Schema] = schema.get("$defs", {})
        self.places: dict[str, list[str]] = {}
        self._find(schema, "")

    def _find(self, schema: object, place: str) -> None:
        """Note the place of each section, in the order of the file."""
        if isinstance(schema, list):
            for part in schema:
                self._find(part, place)
        if not isinstance(schema, Mapping):
            return
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            known = self.places.setdefault(name, [])
            if place not in known:
                known.append(place)
                self._find(self.parts[name], place)
        for key, part in schema.get("properties", {}).items():
            self._find(part, f"{place}.{key}".lstrip("."))
        for key in ("additionalProperties", "patternProperties"):
            inner = schema.get(key)
            below = inner.values() if key == "patternProperties" and inner else [inner]
            self._find(list(below), f"{place}.NAME")
        for key in ("anyOf", "oneOf", "items"):
            self._find(schema.get(key), place)

    def sections(self) -> Iterator[tuple[str, Schema]]:
        """The sections by name, in the order of the file; the file itself has no name."""
        yield "", self.schema
        yield from ((name, self.parts[name]) for name in self.places)

    def heading(self, name: str) -> str:
        """The keys below which the section stands."""
        return ", ".join(self.places[name])

    def link(self, name: str) -> str:
        """The link to the section called ``name``."""
        if "test" in self.parts[name].get("properties", {}):
            return f"[a claim](#{slug(CLAIMS)})"
        if set(self.parts[name].get("properties", {})) == {"quantiles"}:
            return "[`{quantiles: NAME}`](quantiles.md)"
        return f"[keys](#{slug(self.heading(name))})"

    def section(self, name: str, section: Schema) -> list[str]:
        """Heading, description and keys; nothing where a page of its own has them."""
        keyed = next((part for part in section.get("anyOf", [section]) if "properties" in part), section)
        if set(keyed["properties"]) == {"quantiles"}:
            return []
        head = [f"## {self.heading(name)}", "", sentence(keyed.get("description")), ""] if name else []
        return [*head, *self.table(keyed)]

    def table(self, section: Schema, without: frozenset[str] = frozenset()) -> list[str]:
        """The keys of ``section``."""
        required = section.get("required", ())
        return table(
            HEADINGS,
            [
                (
                    code(key),
                    prose(schema["description"]),
                    accepted(schema, self.link),
                    default(schema, key in required),
                )
                for key, schema in section["properties"].items()
                if key not in without
            ],
        )


def _claims(file: File) -> list[str]:
    """The keys that all claims have, then each test with its own."""
    lines = [f"## {CLAIMS}", "", "Every claim has these keys; `kind` is for claims about downloads.", ""]
    first = next(part for part in file.parts.values() if part.get("properties", {}).keys() >= _COMMON)
    chosen = {key: schema for key, schema in first["properties"].items() if key in _COMMON}
    lines += file.table({"properties": chosen, "required": first["required"]})
    for test in claim_tests().values():
        lines += test_lines(file, test, "###")
    return lines


def test_lines(file: File, test: type[Claim], heading: str) -> list[str]:
    """A test of claims with the keys that others lack."""
    section = file.parts[test.__name__]
    own = file.table(section, _COMMON | {"test"})
    return [f"{heading} {test.test_name()}", "", sentence(section["description"]), "", *own]
