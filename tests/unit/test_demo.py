"""``torsweep demo``, and the questions that the documentation asks of it."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from docs.generate.notebook import PAGE, cells
from torsweep.cli import main
from torsweep.commands import BUNDLE
from torsweep.formats.archives import unpack_zip


def test_the_demo_leaves_a_page_and_figures_and_says_what_to_type(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["demo"])
    printed = capsys.readouterr().out
    assert ended.value.code == 0
    assert "web, first byte" in printed
    page, figures = (re.search(rf"^{name} +(\S+)$", printed, re.MULTILINE)[1] for name in ("page", "figures"))
    assert "4 networks" in Path(page).read_text()
    assert len(list(Path(figures).glob("*.png"))) == 9
    assert "torsweep compare --torrc" in printed.partition("next")[2]


def test_five_questions_have_the_answers_that_the_page_prints(tmp_path, monkeypatch):
    unpack_zip(BUNDLE, tmp_path / "torsweep-demo")
    monkeypatch.chdir(tmp_path)
    page, names = PAGE.read_text(), {}
    answers = []
    for code in cells(page):
        with redirect_stdout(io.StringIO()) as printed:
            exec(code, names)
        answers.append(printed.getvalue())
    assert [text for text in answers if text] == re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    assert len(answers) == 6
