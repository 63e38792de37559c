"""The page of a plan: what it says, that it needs nothing else, and what it refuses."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.published_plan import EXPERIMENT, PublishedPlan, copied
from tests.small_network import equal_rtts, small_network
from tests.stamped import stamp
from torsweep.config.experiment import load_experiment
from torsweep.errors import InputError
from torsweep.network.model import NETWORK_FILE, write_network
from torsweep.provenance import sha256_of_file
from torsweep.report import SIGNATURE, Page, gather, render
from torsweep.report.networks import describe_networks
from torsweep.runsets.plan_tables import PlanTables
from torsweep.stats.inference.intervals import Interval
from torsweep.stats.measures.summary import MEASURE_MEANS
from torsweep.stats.summarize import read_shown_summary
from torsweep.stats.text import interval_text
from torsweep.stats.verdicts import read_claims

VOID = {"meta", "link", "img", "br", "input", "hr"}


class Outline(HTMLParser):
    """Elements of a page by name, its text, and whatever is not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def gathered(plan: PublishedPlan, experiment: Path = EXPERIMENT) -> Page:
    return gather(plan.stage("summaries"), plan.stage("figures"), experiment, plan.networks)


@pytest.fixture(scope="session")
def text(plan: PublishedPlan) -> str:
    return render(gathered(plan))


@pytest.fixture(scope="session")
def outline(text: str) -> Outline:
    parsed = Outline()
    parsed.feed(text)
    assert parsed.open == []
    return parsed


def test_the_same_page_is_written_each_time(plan, text):
    for _ in range(2):
        plan.report()
        assert plan.page.read_text() == text
    assert SIGNATURE in text


def test_a_page_needs_no_other_file_and_no_other_host(outline, text):
    assert {tag for tag, _ in outline.elements} & {"script", "iframe", "object", "video", "audio"} == set()
    sources = [
        value for _, attributes in outline.elements for key, value in attributes.items() if key == "src"
    ]
    assert sources and all(source.startswith("data:image/png;base64,") for source in sources)
    assert [link["href"] for link in outline.all("link")] == ["data:,"]
    policy = next(meta for meta in outline.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy["content"]
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style and "@import" not in style


def test_links_within_the_page_lead_somewhere(outline):
    identifiers = [attributes["id"] for _, attributes in outline.elements if "id" in attributes]
    assert len(set(identifiers)) == len(identifiers)
    inner = {link["href"][1:] for link in outline.all("a") if link["href"].startswith("#")}
    assert inner <= set(identifiers)


def test_every_verdict_and_every_number_of_the_summary_is_there(plan, outline):
    said = " ".join(outline.text.split())
    for claim in read_claims(plan.stage("summaries")).claims:
        where = f" ({claim.setting})" if claim.setting else ""
        assert f"{claim.text}{where} {claim.verdict.capitalize()}: {claim.reason}." in said
        assert all(item.statement in said for item in claim.comparisons)
    shown = read_shown_summary(plan.stage("summaries")).tables
    tables = [table for name, of_statistic in shown.items() if name != "claims" for table in of_statistic]
    assert len(tables) >= 4
    for row in itertools.chain.from_iterable(table.rows for table in tables):
        assert all(cell in said for cell in row), row


def test_every_figure_has_its_words(plan, outline):
    images = outline.all("img")
    assert len(images) == len(plan.experiment.figures)
    for image, name in zip(images, plan.experiment.figures, strict=True):
        assert f"What {name} says of itself, Description." in image["alt"]
        assert f"What {name} says of itself, Title." in outline.text
        assert f"What {name} says of itself, Comment." in outline.text
        assert (image["width"], image["height"]) == ("326", "192")


def test_networks_and_repetition_are_described(outline):
    said = " ".join(outline.text.split())
    assert "3 relays, 1 authorities, 1 web clients, 1 bulk clients, 1 servers" in said
    command = "experiment=refill_sweep network=ci engine=cellsim era=2012 plan=main replicates=3 first_seed=1"
    assert f"snakemake --cores 8 publish --config {command} 'warm_up=10 s' 'measured=60 s'" in said


def test_networks_without_web_clients_that_pause_have_no_regime(plan):
    provenance = PlanTables.open(plan.stage("tables")).provenance
    found = describe_networks(plan.networks, provenance, load_experiment("starvation").traffic)
    assert (found.warnings, found.overload) == ((), None)


def test_an_overload_stands_at_the_top(plan, text, tmp_path):
    assert "Overloaded." not in text
    crowded = []
    provenance = PlanTables.open(plan.stage("tables")).provenance
    for number, run in enumerate(provenance.runs[:2]):
        made = small_network(("guard_exit", "exit", "guard"), [f"web{n}" for n in range(1, 21)])
        made = made.model_copy(update={"seed": number})
        crowded.append(tmp_path / "ci" / str(number))
        write_network(made, equal_rtts(made), crowded[-1])
        run["network_sha256"] = sha256_of_file(crowded[-1] / NETWORK_FILE)
    provenance = replace(provenance, runs=provenance.runs[:2])
    networks = describe_networks(crowded, provenance, plan.experiment.traffic)
    said = render(replace(gathered(plan), networks=networks))
    sentence = "2 of 2 networks are overloaded 4.0-fold: web clients ask for 0.4 MiB/s"
    assert sentence in said.partition("<figure")[0]


@pytest.mark.parametrize(
    ("engine", "said"),
    [("cellsim", "The times of real tor may differ."), ("shadow", "own TCP."), ("emulation", "")],
)
def test_a_page_says_at_the_top_how_its_engine_differs_from_tor_on_a_kernel(plan, engine, said):
    page = gathered(plan)
    top = render(replace(page, provenance=replace(page.provenance, engine=engine))).partition("<figure")[0]
    assert ('class="model"' in top) == bool(said)
    assert said in top


def test_how_much_relays_were_used_is_said(plan, outline):
    plan_json = json.loads((plan.stage("summaries") / "plan.json").read_text())
    measures = MEASURE_MEANS.read(plan.stage("summaries")).filter(measure="utilisation_total", group="all")
    (mean,) = measures.filter(**plan_json["baseline"])["mean"]
    assert f"Utilisation in the baselineall {mean:.3f} [" in " ".join(outline.text.split())


@pytest.mark.parametrize("pairing", ["free", "paths"])
def test_a_page_says_that_clients_have_common_paths(plan, tmp_path, pairing):
    file = tmp_path / "refill_sweep" / "experiment.yaml"
    file.parent.mkdir()
    file.write_text(f"{EXPERIMENT.read_text()}\npairing: {pairing}\n")
    page = render(gathered(plan, file))
    assert ("the same in every variant of a network" in page) == (pairing == "paths")


def test_what_a_file_says_is_text_and_no_markup(plan, tmp_path):
    hostile = copied(plan, tmp_path / "plan")
    file = hostile.stage("summaries") / "claims.json"
    document = json.loads(file.read_text())
    document["claims"][0]["reason"] = '<script>alert(1)</script> & "quotes"'
    file.write_text(json.dumps(document))
    stamp(file.parent)
    page = render(gathered(hostile))
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp;" in page


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:200])


def _sample_anew(file: Path) -> None:
    file.write_text(file.read_text().replace('"seed": 1', '"seed": 9'))


@pytest.mark.parametrize(
    ("name", "damage", "expected"),
    [
        ("figures/ttfb_cdf.png", Path.unlink, "ttfb_cdf.png: no such file"),
        ("figures/ttfb_cdf.png", _cut, "ttfb_cdf.png: is no whole PNG"),
        ("summaries/plan.json", Path.unlink, "no summary is there"),
        ("networks/ci/1/network.json", _sample_anew, "is no network of the plan, or has been sampled anew"),
    ],
)
def test_what_is_missing_or_damaged_leaves_no_page(plan, tmp_path, name, damage, expected):
    damaged = copied(plan, tmp_path / "plan")
    damaged.page.unlink(missing_ok=True)
    damage(damaged.folder / name)
    with pytest.raises(InputError, match=re.escape(expected)):
        damaged.report()
    assert not damaged.page.exists()


def test_a_network_that_was_left_out_is_missed(plan):
    with pytest.raises(InputError, match="lacks networks that the plan's runs were on"):
        gathered(replace(plan, networks=plan.networks[1:]))


def test_numbers_in_words():
    nan = float("nan")
    assert interval_text(Interval(-0.0312, -1.0, 4919537.6, 8, 0.95)) == "-0.031 [-1.000, over 1,000]"
    assert interval_text(Interval(2.0, nan, nan, 8, 0.95)) == "2.000"
    assert interval_text(Interval(nan, nan, nan, 8, 0.95)) == "–"


def _page_of_tor(plan, tmp_path, tor):
    """The page of an experiment with ``tor`` under the name mine."""
    experiment = tmp_path / "refill_sweep" / EXPERIMENT.name
    experiment.parent.mkdir()
    experiment.write_text(f"{EXPERIMENT.read_text()}\ntors:\n  mine: {tor}\n")
    return render(gathered(plan, experiment))


def test_the_patches_of_a_tor_are_shown_as_they_are(plan, tmp_path):
    patch = tmp_path / "kist-idle.patch"
    patch.write_bytes("--- a/kist.c\n+++ b/kist.c\n-if (a < b)\n+if (a <= b) /* é */\n".encode("latin-1"))
    page = _page_of_tor(plan, tmp_path, f"{{source: debian, patches: [{patch}]}}")
    assert "Patch kist-idle.patch, on the tor mine" in page
    assert "+if (a &lt;= b)" in page


def test_a_page_shows_what_the_commit_of_a_tor_changes(plan, tmp_path):
    repository, ids = tmp_path / "tor", []
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    git = ["git", *identity, "-C", str(repository)]
    subprocess.run(["git", "init", "-q", "-b", "main", str(repository)], check=True)
    for text, branch in (("int a;\n", "main"), ("int <b>;\n", "mine")):
        subprocess.run([*git, "checkout", "-q", "-B", branch], check=True)
        (repository / "kist.c").write_text(text)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-q", "-m", branch], check=True)
        head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
        ids.append(head.stdout.strip())
    page = _page_of_tor(plan, tmp_path, f"{{git: {repository}, revision: {ids[1]}}}")
    assert "What the tor mine changes" in page
    assert "-int a;\n+int &lt;b&gt;;" in page
    assert str(repository) not in page and f"sources/mine_{ids[1]}.tar.gz" in page
