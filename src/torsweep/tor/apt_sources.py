"""Entries of apt's source list that name source packages, derived from the machine's own entries.

In: the texts of the machine's source lists, in either of apt's two formats. Out: the same entries with
``deb-src`` in place of ``deb``, for a private apt state. No archive's address stands in the project.
"""

from __future__ import annotations

import re
from itertools import pairwise

_ONE_LINE = re.compile(r"^\s*deb(?:-src)?\s+(?:\[(?P<options>[^\]]*)\]\s*)?(?P<rest>\S.*)$")
_FIELD = re.compile(r"^([^\s:]+):", re.MULTILINE)


def source_lines(text: str) -> str:
    """The one-line entries of a ``.list`` file as ``deb-src`` entries, each once; empty without any.

    Options stay, such as the key that signs the archive; ``arch`` goes, since source packages have none.
    """
    entries = []
    for line in text.splitlines():
        match = _ONE_LINE.match(line.split("#", 1)[0].rstrip())
        if match is None:
            continue
        options = [
            option
            for option in (match["options"] or "").split()
            if not re.match(r"arch[+-]?=", option, re.IGNORECASE)
        ]
        bracket = f"[{' '.join(options)}] " if options else ""
        entries.append(f"deb-src {bracket}{match['rest']}")
    return "".join(f"{entry}\n" for entry in dict.fromkeys(entries))


def source_stanzas(text: str) -> str:
    """The stanzas of a ``.sources`` file with ``Types: deb-src``; those switched off are left out."""
    stanzas = []
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for stanza in re.split(r"\n\s*\n", lines):
        fields = _fields(stanza)
        if "types" not in fields or _value(fields.get("enabled", "Enabled: yes")).lower() == "no":
            continue
        kept = [field for name, field in fields.items() if name not in ("types", "architectures", "enabled")]
        stanzas.append("\n".join(["Types: deb-src", *kept]) + "\n")
    return "\n".join(dict.fromkeys(stanzas))


def _fields(stanza: str) -> dict[str, str]:
    """The fields of a stanza by name in lower case, each with its name and its continuation lines."""
    bounds = [*(match.start() for match in _FIELD.finditer(stanza)), len(stanza)]
    fields = [stanza[start:end].rstrip() for start, end in pairwise(bounds)]
    return {field.split(":", 1)[0].lower(): field for field in fields}


def _value(field: str) -> str:
    return field.split(":", 1)[1].strip()
