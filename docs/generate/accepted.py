"""What a value of a configuration file may be, in words, from its JSON schema.

In: the schema of a key. Out: a few words of Markdown, with a link where the value has keys of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from docs.generate.markdown import code

_PATTERN_WORDS = {
    r"\S": "a text that is not blank",
    r"^[a-z][a-z0-9_]*$": "small letters, digits and underscores, a letter first",
    r"^[0-9a-f]{64}$": "a SHA-256 of 64 hexadecimal digits",
    r"^[A-Za-z0-9_-]+$": "letters, digits, - and _",
    r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*$": "a name of letters, digits, ., - and _",
    r"^[A-Za-z0-9][A-Za-z0-9._-]*$": "a name of letters, digits, ., - and _, or file: PATH",
    r"[^;\s]": "one name or more",
    r"^[A-Za-z0-9][A-Za-z0-9.+-]{0,63}$": "an SPDX identifier, such as CC-BY-4.0",
}
"""The patterns of this package in words."""

Schema = Mapping[str, Any]
Link = Callable[[str], str]
"""The link to the section of a name below ``$defs``."""


def accepted(schema: Schema, link: Link) -> str:
    """What ``schema`` accepts."""
    if "$ref" in schema:
        return link(schema["$ref"].rsplit("/", 1)[1])
    if "const" in schema or "enum" in schema:
        return ", ".join(code(value) for value in schema.get("enum", [schema.get("const")]))
    for union in ("anyOf", "oneOf"):
        if union in schema:
            parts = [accepted(part, link) for part in schema[union] if part.get("type") != "null"]
            return " or ".join(dict.fromkeys(parts))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(_BY_TYPE[each]({}, link) for each in kind)
    return _BY_TYPE[str(kind)](schema, link)


def default(schema: Schema, required: bool) -> str:
    """The default of a key as the file would have it, or that there is none."""
    if required:
        return "required"
    value = schema.get("default")
    if isinstance(value, Mapping):
        return code(value["name"]) if set(value) == {"name"} else ""
    if value is None or value in ([], ""):
        return ""
    if isinstance(value, bool):
        return code(str(value).lower())
    if isinstance(value, list):
        return ", ".join(map(code, value))
    return code(value)


def _number(name: str) -> Callable[[Schema, Link], str]:
    def words(schema: Schema, _: Link) -> str:
        most = schema.get("maximum")
        if "exclusiveMaximum" in schema:
            most = schema["exclusiveMaximum"] - 1
        if "minimum" not in schema or most is None:
            return name
        return f"{name} from {schema['minimum']:,} to {most:,}"

    return words


def _text(schema: Schema, _: Link) -> str:
    if "x-least" in schema:
        return f"{code(schema['x-least'])} to {code(schema['x-most'])}"
    if schema.get("format") == "path":
        return "a path"
    return _PATTERN_WORDS.get(schema.get("pattern", ""), "a text").removesuffix(", or file: PATH")


def _list(schema: Schema, link: Link) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(accepted(item, link) for item in schema['prefixItems'])}]"
    return f"a list of: {accepted(schema['items'], link)}"


def _mapping(schema: Schema, link: Link) -> str:
    values = schema.get("additionalProperties") or next(iter(schema.get("patternProperties", {}).values()))
    return f"{{NAME: {accepted(values, link)}}}"


_BY_TYPE: Mapping[str, Callable[[Schema, Link], str]] = {
    "integer": _number("a whole number"),
    "number": _number("a number"),
    "string": _text,
    "boolean": lambda *_: "`true`, `false`",
    "array": _list,
    "object": _mapping,
}
