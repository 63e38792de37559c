"""The page of knobs: what each turns, its levels, its level in each era, and what tor takes it by.

In: :data:`torsweep.config.knobs.KNOBS`. Out: the page.
"""

from __future__ import annotations

from docs.generate.markdown import code, prose, table
from torsweep.config.eras import ERAS
from torsweep.config.knob import Knob, TorOption
from torsweep.config.knobs import CONSENSUS, KNOBS, NETWORK, find_knob
from torsweep.config.option_bundle import REFUSED_OPTIONS

TARGETS = {
    "tor": "Knobs of tor",
    "torrc": "Knobs of tor",
    "traffic": "Knobs of clients",
    "transport": "Knobs of the model's TCP and links",
    "network": "Knobs that make networks of their own",
    "tor_build": "Builds, options and programs",
    "options": "Builds, options and programs",
    "programs": "Builds, options and programs",
}
_BY_PATTERN = (find_knob(f"{CONSENSUS}NAME"), find_knob(f"{NETWORK}key"))


def knobs_page() -> list[str]:
    """Eras, then each knob."""
    lines = ["# Knobs, levels and eras", ""]
    lines += [
        "A level stands under `knobs` or `sensitivities` of [an experiment](experiment.md). An era is the"
        " level of each knob of tor that the experiment does not turn: `2012` is tor 0.2.2 and 0.2.3, `2019`"
        " tor 0.3.4 and 0.3.5, `today` tor 0.4.9 with [the consensus of 17 January"
        " 2026](../../configs/eras/today.yaml), or with the one in a study's own `configs/eras/today.yaml`.",
        "",
    ]
    of_tor = [knob for knob in KNOBS.values() if knob.of_tor]
    rows = [
        (f"[`{knob.name}`](#{knob.name})", *(code(knob.usual_in(era)) for era in ERAS)) for knob in of_tor
    ]
    lines += ["## Eras", "", *table(("knob", *(f"era `{era}`" for era in ERAS)), rows)]
    for heading in dict.fromkeys(TARGETS.values()):
        lines += [f"## {heading}", ""]
        for knob in (*KNOBS.values(), *_BY_PATTERN):
            if TARGETS[knob.target] == heading:
                lines += _knob(knob)
    return lines + _refused()


def _refused() -> list[str]:
    lines = ["## Refused options of a torrc", ""]
    lines += [
        "A bundle's `torrc` and `--torrc` take tor's options but for these, which have no place in a run. An"
        " experiment may be somebody else's, and tor may run as root. Options that end in `File`, `Folder`,"
        " `Directory` or `Path` are refused in any tor.",
        "",
    ]
    rows = [(why, " ".join(map(code, sorted(options)))) for why, options in REFUSED_OPTIONS.items()]
    return [*lines, *table(("The option …", "options"), rows)]


def _knob(knob: Knob) -> list[str]:
    lines = [f"### {knob.name}", "", prose(knob.meaning), "", f"- Levels: {knob.levels.accepted}"]
    if not knob.of_tor and knob.usual is not None:
        lines.append(f"- Where nobody turns it: `{knob.usual}`")
    for other, level in knob.under.items():
        what = "not applied" if knob.passed_over else "refused"
        lines.append(f"- Only with `{other}={level}`; elsewhere {what}")
    if knob.tor:
        lines.append(f"- In tor: {'; '.join(map(_option, knob.tor))}")
    return [*lines, ""]


def _option(option: TorOption) -> str:
    where = {"consensus": "consensus parameter ", "environment": "variable of the environment "}
    only = f" (torrc of each {option.where})" if option.where in ("relay", "client") else ""
    return f"{where.get(option.where, '')}`{option.name}`{only}"
