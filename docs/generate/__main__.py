"""Write the reference anew: ``python -m docs.generate``.

In: the declarations of configuration, knobs, commands, tables, statistics and figures. Out: the pages of
``docs/reference``, a page beside each experiment.yaml that has modules, and ``configs/schema.json``. A test
fails while a page differs from what this writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from docs.generate.commands import commands_page
from docs.generate.figures import figures_page
from docs.generate.keys import experiment_page, network_page, overrides_page, quantiles_page
from docs.generate.knobs import knobs_page
from docs.generate.measures import measures_page
from docs.generate.notebook import PAGE, notebook_text
from docs.generate.own import own_pages
from docs.generate.schema import schema_text
from docs.generate.tables import summaries_page, tables_page

FOLDER = Path(__file__).parents[1] / "reference"
MARK = "<!-- Written by `python -m docs.generate` from the declarations in the code; do not edit. -->"

SCHEMA = FOLDER.parents[1] / "configs/schema.json"
NOTEBOOK = FOLDER.parent / "notebooks/five_questions.ipynb"

PAGES: dict[str, Callable[[], list[str]]] = {
    "commands": commands_page,
    "experiment": experiment_page,
    "network": network_page,
    "quantiles": quantiles_page,
    "overrides": overrides_page,
    "knobs": knobs_page,
    "tables": tables_page,
    "summaries": summaries_page,
    "measures": measures_page,
    "figures": figures_page,
}


def pages() -> Iterator[tuple[Path, str]]:
    """Each page of the reference, the notebook and the schema, and what it is to hold."""
    yield SCHEMA, schema_text()
    written = {name: page() for name, page in PAGES.items()}
    yield NOTEBOOK, notebook_text(PAGE.read_text(encoding="utf-8"))
    for name, lines in {"README": _index(written), **written}.items():
        yield FOLDER / f"{name}.md", _text(lines)
    for file, lines in own_pages():
        yield SCHEMA.parents[1] / file, _text(lines)


def _text(lines: Sequence[str]) -> str:
    return "\n".join([MARK, "", *lines]).rstrip() + "\n"


def _index(written: Mapping[str, list[str]]) -> list[str]:
    """The list of pages, by their headings."""
    lines = ["# What the code declares", "", "Each page is written from the declarations in the code.", ""]
    return lines + [f"- [{page[0].removeprefix('# ')}]({name}.md)" for name, page in written.items()]


def main() -> None:
    """Write the pages; one that is no longer generated goes."""
    FOLDER.mkdir(exist_ok=True)
    NOTEBOOK.parent.mkdir(exist_ok=True)
    written = dict(pages())
    for left in set(FOLDER.glob("*.md")) - set(written):
        left.unlink()
    for file, text in written.items():
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
