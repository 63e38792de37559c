"""The notebook of five questions: the code and headings of the page that asks them.

In: docs/how-to/analyse-results.md. Out: the text of the notebook.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "how-to/analyse-results.md"
CODE = re.compile(r"```python\n(.*?)```\n", re.DOTALL)
_PARTS = re.compile(r"(?m)^(#+ .*)$|```python\n((?:.|\n)*?)```\n")


def cells(page: str) -> list[str]:
    """The code of ``page``, a text for each cell."""
    return CODE.findall(page)


def notebook_text(page: str) -> str:
    """The notebook, without outputs."""
    made: list[dict[str, object]] = []
    for number, (heading, code) in enumerate(_PARTS.findall(page)):
        text = heading or code.rstrip("\n")
        cell: dict[str, object] = {"cell_type": "markdown" if heading else "code", "id": f"cell-{number}"}
        cell |= {"metadata": {}, "source": text.splitlines(keepends=True)}
        made.append(cell if heading else {**cell, "execution_count": None, "outputs": []})
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    document = {"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
