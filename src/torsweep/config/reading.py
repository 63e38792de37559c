"""From a document to a validated model.

In: what :mod:`torsweep.formats` read from a file, overrides from a command line, the model to fit. Out: an
instance of the model, or one :class:`InputError` naming file, key, value and what is accepted.
"""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from torsweep.errors import InputError
from torsweep.formats.yaml_file import parse_scalar


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
                    raise RefusedValue("stands twice", key=where, value=str(name), accepted="each once")
                before.add(name)
        return self


def default_text(text: str) -> Any:
    """The default of a quantity, as it would stand in the file; it is validated like any value."""
    return Field(default=text)


_ACCEPTED = {
    **dict.fromkeys(("int_type", "int_from_float", "int_parsing"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true, false"),
    "string_type": "a text",
    "greater_than": "more than {gt}",
    "greater_than_equal": "{ge} or more",
    "less_than": "less than {lt}",
    "less_than_equal": "{le} or less",
    "string_pattern_mismatch": "a text that matches {pattern}",
    "finite_number": "a finite number",
    "string_too_short": "{min_length} or more characters",
    "string_too_long": "at most {max_length} characters",
    "too_short": "{min_length} or more entries",
    "too_long": "at most {max_length} entries",
    **dict.fromkeys(("tuple_type", "list_type"), "a list"),
    "path_type": "a path",
    "none_required": "null",
    "int_parsing_size": "a whole number of 64 bits",
}
"""What a value of each of pydantic's error types should have been."""

PATTERN_WORDS = {
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

Kind = TypeVar("Kind")


def parse_settings(settings: Sequence[str] | None) -> dict[str, object]:
    """``key=value`` texts of ``--set`` as a mapping; InputError when one has no equals sign."""
    parsed: dict[str, object] = {}
    for setting in settings or ():
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise InputError("is no setting", key="--set", value=setting, accepted="KEY=VALUE")
        parsed[key] = value
    return parsed


def apply_overrides(document: Mapping[str, Any], overrides: Mapping[str, object]) -> dict[str, Any]:
    """A copy of ``document`` with each ``a.b.c`` of ``overrides`` set; texts are read as YAML scalars.

    Raises InputError when a key leads through something that is no mapping.
    """
    changed = dict(document)
    for dotted, value in overrides.items():
        *parents, last = dotted.split(".")
        place = changed
        for parent in parents:
            inner = place.get(parent, {})
            if not isinstance(inner, Mapping):
                raise InputError(f"'{parent}' holds a value, not keys", key=dotted, value=value)
            place[parent] = dict(inner)
            place = place[parent]
        place[last] = parse_scalar(value) if isinstance(value, str) else value
    return changed


def validate(kind: type[Kind], document: Mapping[str, Any], file: str | Path | None) -> Kind:
    """``document`` as a ``kind``, which is a model or a dataclass; InputError on the first thing wrong."""
    try:
        return TypeAdapter(kind).validate_python(dict(document))
    except ValidationError as error:
        raise _input_error(kind, error, file) from None


def _input_error(model: type, error: ValidationError, file: str | Path | None) -> InputError:
    """The pydantic ``error`` about ``model`` as one line.

    A misspelt key is unknown, and the right one missing: unknown keys go first, as they say more. A list
    whose only entry is wrong is said to be empty as well, which is passed over.
    """
    problems = [problem for problem in error.errors(include_url=False) if problem["type"] != "too_short"]
    problems = problems or error.errors(include_url=False)
    problems.sort(key=lambda problem: problem["type"] != "extra_forbidden")
    first, others = problems[0], len(problems) - 1
    problem, accepted, key, value = _explain(model, first)
    if others:
        problem += f" (and {others} more)"
    return InputError(problem, file=file, key=key or None, value=value, accepted=accepted)


def _explain(model: type, details: Any) -> tuple[str, str | None, str, object]:
    """Problem, what is accepted, key and value of one of pydantic's error records."""
    location, value, context = details["loc"], details["input"], details.get("ctx", {})
    models = list(_models_at(model, location[:-1] if location else ()))
    key = _key_path(model, location)
    match details["type"]:
        case "extra_forbidden":
            return (*_unknown_key(str(location[-1]), models), key, None)
        case "missing":
            return "missing key", None, key, None
        case "literal_error" | "enum":
            expected = context["expected"].replace(" or ", ", ")
            return f"is not accepted{_meant(value, expected, models)}", expected, key, value
        case "union_tag_invalid":
            tag, expected = context["discriminator"].strip("'"), context["expected_tags"]
            problem = f"is not accepted{_meant(context['tag'], expected)}"
            return problem, expected, f"{key}.{tag}", context["tag"]
        case "union_tag_not_found":
            tag = context["discriminator"].strip("'")
            tags = (typing.get_args(model.model_fields[tag].annotation) for model in models)
            return f"missing key '{tag}'", ", ".join(sorted(each for (each,) in tags)), key, None
        case "value_error" if isinstance(context.get("error"), RefusedValue):
            refused = context["error"]
            key = ".".join(filter(None, (key, refused.key)))
            return refused.problem, refused.accepted, key, refused.value
        case "value_error":
            problem, accepted = _split_expectation(str(context["error"]))
            return problem, accepted, key, value
        case "model_type" | "dict_type" | "mapping_type" | "dataclass_type":
            return "expected keys and values here", None, key, value
        case "string_pattern_mismatch" if context["pattern"] in PATTERN_WORDS:
            return "is not accepted", PATTERN_WORDS[context["pattern"]], key, value
        case kind if kind in _ACCEPTED:
            return "is not accepted", _ACCEPTED[kind].format(**context), key, value
        case _:
            return "is not accepted", details["msg"].removeprefix("Input should be "), key, value


def _split_expectation(message: str) -> tuple[str, str | None]:
    """A validator's ``problem; expected what`` in its two parts."""
    if message.startswith("expected "):
        return "is not accepted", message.removeprefix("expected ")
    problem, _, accepted = message.partition("; expected ")
    return problem, accepted or None


def _unknown_key(key: str, models: Sequence[type[BaseModel]]) -> tuple[str, str]:
    names = list(dict.fromkeys(name for model in models for name in _keys(model)))
    return f"unknown key{suggestion(key, names)}", ", ".join(names)


def _keys(model: type[BaseModel]) -> Iterator[str]:
    """The keys of a section; what is excluded from the file is known from elsewhere."""
    return (field.alias or name for name, field in model.model_fields.items() if not field.exclude)


def _meant(value: object, expected: str, models: Sequence[type[BaseModel]] = ()) -> str:
    """:func:`suggestion` among the quoted names of ``expected``, else among those that other keys take."""
    if not isinstance(value, str):
        return ""
    words = suggestion(value, expected.replace("'", "").split(", "))
    others = ((key, field.annotation) for model in models for key, field in model.model_fields.items())
    for key, annotation in others:
        words = words or suggestion(value, list(_literals_in(annotation)), f"{key}: ")
    return words


def _literals_in(annotation: object) -> Iterator[str]:
    """The names that a type annotation accepts, through unions, lists and metadata."""
    for argument in typing.get_args(annotation):
        yield from [argument] if isinstance(argument, str) else _literals_in(argument)


def suggestion(word: str, names: Sequence[str], key: str = "") -> str:
    """`` (did you mean 'name'?)`` for the name closest to ``word``, or nothing when none is close.

    A name is close, too, that begins with it. ``key`` is where that name stands.
    """
    begun = (name for name in names if word and name.startswith(word))
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.6) or [*begun][:1]
    return f" (did you mean {key}'{close[0]}'?)" if close else ""


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    """The models that a type annotation mentions, through unions, lists, mappings and metadata."""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        if issubclass(annotation, BaseModel):
            yield annotation
        return
    for argument in typing.get_args(annotation):
        yield from _models_in(argument)


def _is_tag_of(model: type[BaseModel], part: object) -> bool:
    return any(part in typing.get_args(field.annotation) for field in model.model_fields.values())


def _models_at(model: type, location: Sequence[int | str]) -> Iterator[type[BaseModel]]:
    """The models a value at ``location`` (a pydantic error's ``loc``) may be an instance of."""
    candidates = list(_models_in(model))
    for part in location:
        fields = [candidate.model_fields.get(str(part)) for candidate in candidates]
        if any(fields):
            candidates = [inner for field in fields if field for inner in _models_in(field.annotation)]
        elif isinstance(part, str) and any(_is_tag_of(candidate, part) for candidate in candidates):
            candidates = [candidate for candidate in candidates if _is_tag_of(candidate, part)]
    yield from candidates


def _key_path(model: type, location: Sequence[int | str]) -> str:
    """``location`` as a reader of the file would write it: ``claims[2].margin``.

    Pydantic puts the tag of a discriminated union into the location; it is no key and is left out. Tags of
    unions without a key that tells their members apart stand in angle brackets.
    """
    path = ""
    for position, part in enumerate(location):
        if isinstance(part, int):
            path += f"[{part}]"
            continue
        if part.startswith("<"):
            continue
        models = list(_models_at(model, location[:position]))
        is_field = any(part in candidate.model_fields for candidate in models)
        after_index = position > 0 and isinstance(location[position - 1], int)
        if after_index and not is_field and any(_is_tag_of(candidate, part) for candidate in models):
            continue
        path += f".{part}" if path else part
    return path
