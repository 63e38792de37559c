"""Which experiments there are, and what is known to be wrong with one before anything runs.

In: an experiment and one of its plans. Out: nothing, or an InputError.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from torsweep.config.experiment import EXPERIMENTS_DIRECTORY, MAIN_PLAN, Experiment, experiment_names
from torsweep.config.knobs import find_knob
from torsweep.config.network import NetworkConfig, load_network_config, network_path
from torsweep.config.reading import RefusedValue, suggestion
from torsweep.config.traffic import CLIENT_GROUPS, KINDS
from torsweep.engines.registry import ENGINES
from torsweep.errors import InputError, TorsweepError
from torsweep.formats.yaml_file import read_yaml
from torsweep.home import CHECKOUT, find_all
from torsweep.network.sampling import tor_hosts
from torsweep.pipeline.figures import require_figure
from torsweep.stats.claims import claims_of
from torsweep.stats.statistic import statistics
from torsweep.storage.folders import EXPERIMENT_FILE

NAME = re.compile(r"[a-z0-9_]{1,64}")
"""The names that experiments have in paths, and as targets."""
_LINE_LETTERS = 90
"""How much of a question its target answers."""


def is_rule(name: str) -> bool:
    """Whether the pipeline has a rule of this ``name``, which no experiment can have beside it."""
    files = (CHECKOUT / "Snakefile", *CHECKOUT.glob("rules/*.smk"))
    rules = "".join(file.read_text(encoding="utf-8") for file in files)
    return re.search(rf"^(rule|checkpoint) {re.escape(name)}:", rules, re.MULTILINE) is not None


def require_experiment_name(name: str, file: Path | None = None) -> None:
    """Raise InputError unless the pipeline can take ``name``, that of the folder of ``file``."""
    problem, accepted = "is no name of an experiment", "lower-case letters, digits and _, at most 64"
    if is_rule(name):
        problem, accepted = "is the name of a rule of the pipeline", "another name"
    elif NAME.fullmatch(name):
        return
    raise InputError(problem, file=file, key="experiment name", value=name, accepted=accepted)


def experiment_questions(directory: Path = EXPERIMENTS_DIRECTORY) -> dict[str, str]:
    """What each experiment of the study and the checkout asks, on one line, by name.

    One whose experiment.yaml is wrong says so as a target alone; one with the name of a rule is left out.
    """
    files = {file.parent.name: file for file in find_all(directory, f"*/{EXPERIMENT_FILE}")}
    return {name: _question(file) for name, file in files.items() if not is_rule(name)}


def own_experiments() -> list[str]:
    """The experiments of the working directory; those that ship if it has none."""
    own = sorted(file.parent.name for file in EXPERIMENTS_DIRECTORY.glob(f"*/{EXPERIMENT_FILE}"))
    return own or experiment_names()


def _question(file: Path) -> str:
    try:
        document = read_yaml(file)
    except TorsweepError:
        document = None
    question = document.get("question") if isinstance(document, dict) else None
    if not isinstance(question, str):
        return f"{file} cannot be read"
    return textwrap.shorten(question, _LINE_LETTERS, placeholder=" …")


def require_answerable(experiment: Experiment) -> None:
    """Raise InputError for a name that the pipeline cannot take, an engine or a figure that there is not, a
    knob that no engine turns, a claim about other knobs or levels, and a figure of what runs do not record.
    """
    require_experiment_name(experiment.name, experiment.file)
    try:
        for position, name in enumerate(experiment.engines):
            if name not in ENGINES:
                key, accepted = f"engines[{position}]", ", ".join(sorted(ENGINES))
                raise RefusedValue("is not accepted", key=key, value=name, accepted=accepted)
        for knob in {knob: None for name in experiment.plan_names for knob in experiment.plan(name).knobs}:
            target = find_knob(knob).target
            if not any(ENGINES[name].turns(target) for name in experiment.engines):
                accepted = ", ".join(name for name, each in ENGINES.items() if each.turns(target))
                problem, engines = f"the knob {knob} is in none of these", ", ".join(experiment.engines)
                raise RefusedValue(problem, key="engines", value=engines, accepted=accepted)
        _require_figures(experiment)
    except RefusedValue as no:
        file = experiment.file
        raise InputError(no.problem, file=file, key=no.key, value=no.value, accepted=no.accepted) from None
    claims_of(experiment)


def _require_figures(experiment: Experiment) -> None:
    known = statistics(experiment.name)
    for position, name in enumerate(experiment.figures):
        key = f"figures[{position}]"
        for needed in require_figure(name, experiment.name, experiment.file, key).needs:
            if needed not in known:
                accepted = ", ".join(known)
                raise InputError(f"figure {name} needs what is no statistic", value=needed, accepted=accepted)
            rests_on = known[needed].rests_on
            if rests_on == "source" or rests_on == "import":
                problem = "is drawn where several engines play a plan, without being listed"
                raise RefusedValue(problem, key=key, value=name)
            experiment.require_record(rests_on, key, name)


def require_fitting_networks(experiment: Experiment, plan_name: str = MAIN_PLAN) -> list[NetworkConfig]:
    """The configuration of each network that a plan of ``experiment`` runs on; InputError when one cannot be
    had, or has other clients or hosts than those that the experiment speaks of."""
    variants = experiment.plan(plan_name).variants
    overrides = {tuple(variant.overrides("network").items()) for variant in variants}
    configs = [load_network_config(experiment.network, dict(levels)) for levels in sorted(overrides, key=str)]
    for config in configs:
        _require_clients(experiment, config)
        _require_hosts(experiment, config)
    return configs


def _require_hosts(experiment: Experiment, config: NetworkConfig) -> None:
    if config.tornettools:
        return  # Its hosts have any names.
    known = tor_hosts(config)
    entries = {f"tors.{name}": tor.on for name, tor in experiment.tors.items()}
    entries |= {f"options.{name}": bundle.on for name, bundle in experiment.options.items() if bundle.on}
    entries |= {
        f"programs.{name}[{number}]": program.on
        for name, programs in experiment.programs.items()
        for number, program in enumerate(programs)
        if program.on
    }
    for entry, where in entries.items():
        if lacking := [name for name in where.names if name not in known]:
            problem = f"no host of {experiment.network} that runs tor{suggestion(lacking[0], known)}"
            key, accepted = f"{entry}.on.names", f"{known[0]} to {known[-1]}"
            raise InputError(problem, file=experiment.file, key=key, value=lacking[0], accepted=accepted)


def _require_clients(experiment: Experiment, config: NetworkConfig) -> None:
    counts = config.client_counts
    file = network_path(experiment.network)
    for kind in KINDS:
        if counts[kind] and kind not in experiment.traffic.kinds:
            raise InputError(
                f"experiment {experiment.name} does not say what {kind} clients do",
                file=file,
                key=f"{kind}_clients",
                value=counts[kind],
                accepted=f"traffic.{kind} in the experiment; or its knobs have network.{kind}_clients: [0]",
            )
    for claim in experiment.claims:
        # Claims about cells inside relays are about no kind of clients.
        asked = claim.get("kind")
        clients = next((name for name, group in CLIENT_GROUPS.items() if asked in group.kinds), "")
        if clients and not counts[clients]:
            raise InputError(
                f"claim {claim.get('id')} of experiment {experiment.name} is about {clients} clients",
                file=file,
                key=f"{clients}_clients",
                value=0,
                accepted="1 or more",
            )
