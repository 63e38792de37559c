"""From a document to a validated model.

In: what :mod:`torsweep.formats` read from a file, overrides from a command line, the model to fit. Out: an
instance of the model, or one :class:`InputError` naming file, key, value and what is accepted.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from torsweep.errors import InputError
from torsweep.formats.yaml_file import parse_scalar
from torsweep.units import counted


class RefusedValue(ValueError):
    """Raised by a validator that looks at several keys: names the wrong one, and says why."""

    def __init__(self, problem: str, *, key: str, value: object = None, accepted: str | None = None) -> None:
        super().__init__(problem)
        self.problem, self.key, self.value, self.accepted = problem, key, value, accepted


class Section(BaseModel):
    """A part of a configuration file: unknown keys are refused, values never change.

    The text below a key describes it in configs/schema.json and in docs/reference.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_default=True, use_attribute_docstrings=True
    )

    @model_validator(mode="after")
    def _names_stand_once(self) -> Self:
        for key, value in self:
            before: set[str | Path] = set()
            for position, name in enumerate(value if isinstance(value, tuple) else ()):
                if not isinstance(name, str | Path):
                    continue
                if name in before:
                    where = f"{key}[{position}]"
                    raise RefusedValue("is given twice", key=where, value=str(name), accepted="each once")
                before.add(name)
        return self


def default_text(text: str) -> Any:
    """The default of a quantity, as the file would have it; it is validated like any value."""
    return Field(default=text)


def left_out(default: object = None) -> Any:
    """A field that a document leaves out where it has its default: its bytes, and its hash, do not depend on
    keys that were added later and that it does not use."""
    return Field(default=default, exclude_if=lambda value: value == default)


Kind = TypeVar("Kind")
_Schema = Mapping[str, Any]


def parse_settings(settings: Sequence[str] | None) -> dict[str, object]:
    """``key=value`` texts of ``--set`` as a mapping; InputError when one has no equals sign."""
    parsed: dict[str, object] = {}
    for setting in settings or ():
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise InputError("is no setting", key="--set", value=setting, accepted="KEY=VALUE")
        parsed[key] = value
    return parsed


def listed(value: object) -> object:
    """What may stand alone in a file, as a list."""
    return [value] if isinstance(value, str | Mapping) else value


def apply_overrides(document: Mapping[str, Any], overrides: Mapping[str, object]) -> dict[str, Any]:
    """:func:`with_keys`; texts are read as YAML scalars."""
    read = {key: parse_scalar(each) if isinstance(each, str) else each for key, each in overrides.items()}
    return with_keys(document, read)


def with_keys(document: Mapping[str, Any], values: Mapping[str, object]) -> dict[str, Any]:
    """A copy of ``document`` with each ``a.b.c`` of ``values`` set; InputError when a key leads through
    something that is no mapping."""
    changed = dict(document)
    for dotted, value in values.items():
        *parents, last = dotted.split(".")
        place = changed
        for parent in parents:
            inner = place.get(parent, {})
            if not isinstance(inner, Mapping):
                raise InputError(f"'{parent}' holds a value, not keys", key=dotted, value=value)
            place[parent] = dict(inner)
            place = place[parent]
        place[last] = value
    return changed


def validate(kind: type[Kind], document: Mapping[str, Any], file: str | Path | None) -> Kind:
    """``document`` as a ``kind``, which is a model or a dataclass; InputError on the first thing wrong."""
    try:
        return TypeAdapter(kind).validate_python(dict(document))
    except ValidationError as error:
        raise _input_error(kind, error, file) from None


def _input_error(kind: type, error: ValidationError, file: str | Path | None) -> InputError:
    """The first of pydantic's errors about ``kind`` as one line, in pydantic's words.

    A misspelt key is unknown, and the right one missing: unknown keys go first, as they say more. A list
    whose only entry is wrong is said to be too short as well, which goes last.
    """
    problems = error.errors(include_url=False)
    problems.sort(key=lambda each: (each["type"] != "extra_forbidden", each["type"] == "too_short"))
    first = problems[0]
    context = first.get("ctx", {})
    key, value, cause = _key_path(first["loc"]), first["input"], context.get("error")
    problem, _, accepted = first["msg"].removeprefix("Value error, ").partition("; expected ")
    for opening in ("Input should be ", "expected "):
        if problem.startswith(opening):
            problem, accepted = "is not accepted", problem.removeprefix(opening)
    if isinstance(cause, RefusedValue):
        problem, accepted, value = cause.problem, cause.accepted or "", cause.value
        key = ".".join(filter(None, (key, cause.key)))
    elif first["type"] == "extra_forbidden":
        keys = _keys_beside(kind, first["loc"])
        problem, value = f"unknown key{suggestion(str(first['loc'][-1]), keys)}", None
        accepted = ", ".join(keys)
    elif first["type"] == "missing":
        problem, value = "missing key", None
    elif first["type"] in ("literal_error", "enum", "union_tag_invalid"):
        problem += suggestion(str(context.get("tag", value)), re.findall("'([^']+)'", first["msg"]))
    if isinstance(value, Mapping):
        value = None
    # A key that is missing because it is misspelt is no mistake of its own.
    meant = [each for each in problems[1:] if each["type"] == "missing" and f"'{each['loc'][-1]}'" in problem]
    if others := len(problems) - 1 - len(meant):
        problem += f" (and {counted(others, 'other mistake')})"
    return InputError(problem, file=file, key=key or None, value=value, accepted=accepted or None)


def _keys_beside(kind: type, location: Sequence[int | str]) -> list[str]:
    """The keys that a document of ``kind`` may have where the last part of ``location`` stands."""
    schema = TypeAdapter(kind).json_schema()
    definitions: Mapping[str, _Schema] = schema.get("$defs", {})
    places: list[_Schema] = [schema]
    for part in location[:-1]:
        below = [inner for place in _spread(places, definitions) for inner in _below(place, part)]
        # Names of types and validators are no keys, and lead nowhere.
        places = below or places
    keys = (key for place in _spread(places, definitions) for key in place.get("properties", {}))
    return list(dict.fromkeys(keys))


def _spread(places: Iterable[_Schema], definitions: Mapping[str, _Schema]) -> Iterator[_Schema]:
    """``places``, and what they may be instead."""
    for place in places:
        yield place
        others = [*place.get("anyOf", ()), *place.get("oneOf", ()), *place.get("allOf", ())]
        if reference := place.get("$ref"):
            others.append(definitions[reference.rpartition("/")[2]])
        # Of what has a key that says which it is, that key's value comes next.
        yield from () if "discriminator" in place else _spread(others, definitions)


def _below(place: _Schema, part: int | str) -> Iterator[_Schema]:
    """What stands in ``place`` at the key or index ``part``."""
    if isinstance(part, int):
        inner = [place.get("items")]
    else:
        chosen = place.get("discriminator", {}).get("mapping", {}).get(part)
        inner = [place.get("properties", {}).get(part, place.get("additionalProperties"))]
        inner += [{"$ref": chosen} if chosen else None, *place.get("patternProperties", {}).values()]
    yield from (each for each in inner if isinstance(each, Mapping))


def _key_path(location: Sequence[int | str]) -> str:
    """``claims[2].margin``; names of types and validators are no keys."""
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif not _NO_KEY.match(part):
            path += f".{part}" if path else part
    return path


_NO_KEY = re.compile(r".*[\[(<]|(constrained-)?(int|float|str)$")


def suggestion(word: str, names: Sequence[str]) -> str:
    """`` (did you mean 'name'?)`` for the name closest to ``word`` or beginning with it; else nothing."""
    names = [name for name in names if name != word]
    begun = (name for name in names if word and name.startswith(word))
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.7) or [*begun][:1]
    return f" (did you mean '{close[0]}'?)" if close else ""
