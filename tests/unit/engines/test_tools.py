"""Tools are found on PATH or where a variable says, with the version they tell, and refused by one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torsweep.engines import tools
from torsweep.engines.tools import TOOL_KINDS, find_tool, require_tool
from torsweep.errors import ToolMissing

Install = Callable[..., Path]

ANSWERS = {
    "shadow": ("Shadow 3.3.0 — v3.3.0-199-gf1b2cacf2 2026-08-19--09:03:14", "3.3.0"),
    "tgen": (
        "2026-11-20 13:45:13 1795182313.655142 [message] [tgen-main.c:43] [_tgenmain_run] Initializing "
        "TGen v1.1.2 running GLib v2.74.6 and IGraph v0.10.2 on host somewhere with process id 14076",
        "1.1.2",
    ),
    "oniontrace": (
        "2026-11-20 13:45:13 1795182313.657132 [message] [main] Starting OnionTrace v1.0.0 on host "
        "somewhere process id 14077",
        "1.0.0",
    ),
    "tor": ("Tor version 0.4.9.11.\nThis build of Tor is covered by the GNU GPL", "0.4.9.11"),
}


@pytest.mark.parametrize("name", ["shadow", "tgen", "oniontrace"])
def test_a_tool_on_path_is_found_with_its_version_and_build_and_without_the_host(install, name):
    """Also one that stops for want of arguments."""
    path = install(name, ANSWERS[name][0], code=int(name == "tgen"))
    found = require_tool(name)
    assert (found.path, found.version) == (path, ANSWERS[name][1])
    assert "somewhere" not in found.version_line
    assert ("v3.3.0-199-gf1b2cacf2" in found.version_line) == (name == "shadow")


def test_a_variable_goes_before_path(install, tmp_path, monkeypatch):
    install("shadow", "Shadow 3.3.0")
    elsewhere = install("shadow", "Shadow 3.4.1", folder=tmp_path / "elsewhere")
    for named in (elsewhere, elsewhere.parent):
        monkeypatch.setenv("TORSWEEP_SHADOW", str(named))
        assert require_tool("shadow").path == elsewhere
        assert require_tool("shadow").version == "3.4.1"


def test_a_variable_that_leads_nowhere_is_refused_although_path_has_the_tool(install, tmp_path, monkeypatch):
    install("shadow", "Shadow 3.3.0")
    monkeypatch.setenv("TORSWEEP_SHADOW", str(tmp_path / "nowhere"))
    with pytest.raises(ToolMissing, match=r"^TORSWEEP_SHADOW=.*nowhere: is no program shadow$"):
        require_tool("shadow")
    monkeypatch.setenv("TORSWEEP_SHADOW", str(tmp_path))
    with pytest.raises(ToolMissing, match="holds no program shadow"):
        require_tool("shadow")


@pytest.mark.parametrize("name", TOOL_KINDS)
def test_a_missing_tool_says_what_it_is_for_and_how_to_get_it(no_tools, monkeypatch, name):
    kind = TOOL_KINDS[name]
    assert find_tool(name) is None
    with pytest.raises(ToolMissing) as caught:
        require_tool(name)
    where = "not built" if kind.built else f"not on PATH, and {kind.variable} is not set"
    for part in (f"{name}: {where}", kind.purpose, kind.guide):
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("told", ["Shadow 3.3", "Shadow 3.10.0", "Shadow 12.0"])
def test_versions_compare_as_numbers(install, told):
    install("shadow", told)
    assert require_tool("shadow").version == told.split()[1]


@pytest.mark.parametrize(
    ("told", "does", "said"),
    [
        ("Shadow 3.2.0 — v3.2.0", {}, r"/shadow: too old: 3\.2\.0 < 3\.3;"),
        ("Shadow 2.10.1", {}, r"/shadow: too old: 2\.10\.1 < 3\.3;"),
        ("Shadow 3", {}, r"/shadow: too old: 3 < 3\.3;"),
        ("error while loading libglib", {"code": 127}, r"say its version \(error while .*3\.3 or later"),
        ("", {"after": "exec sleep 60"}, r"no answer within 0\.2 s"),
        ("", {"after": "kill -SEGV $$"}, "killed by signal 11"),
    ],
)
def test_a_tool_that_is_old_has_no_version_hangs_or_crashes_is_refused(
    install, monkeypatch, told, does, said
):
    if "sleep" in does.get("after", ""):
        monkeypatch.setattr(tools, "PATIENCE_S", 0.2)
    install("shadow", told, **does)
    with pytest.raises(ToolMissing, match=said):
        require_tool("shadow")


def test_a_file_that_is_no_program_is_refused(install):
    install("tgen", "").write_bytes(b"\x7fELF")
    with pytest.raises(ToolMissing, match=r"does not say its version \(does not start: "):
        require_tool("tgen")


def test_the_patched_build_goes_before_path(install, patched_tor):
    install("tor", ANSWERS["tor"][0])
    for name in ("tor", "tor-gencert"):
        found = require_tool(name)
        assert (found.path, found.version) == (patched_tor / name, "0.4.9.11")


def test_without_the_build_tor_on_path_is_not_taken(install):
    install("tor", ANSWERS["tor"][0])
    assert find_tool("tor") is None
    with pytest.raises(ToolMissing, match=r"tor: not built; .*`torsweep tor build`"):
        require_tool("tor")
