"""Source entries derived from given texts: both of apt's formats, and nothing that is switched off."""

from __future__ import annotations

import pytest

from torsweep.tor.apt import newest_version, source_lines, source_stanzas


def test_one_line_entries_become_source_entries():
    text = "# the archive\ndeb http://archive.example/debian stable main contrib # comment\n"
    assert source_lines(text) == "deb-src http://archive.example/debian stable main contrib\n"


def test_the_key_of_an_entry_stays_and_its_architecture_goes():
    text = "deb [arch=amd64,arm64 signed-by=/usr/share/keyrings/a.gpg] https://archive.example/d s main\n"
    assert source_lines(text) == (
        "deb-src [signed-by=/usr/share/keyrings/a.gpg] https://archive.example/d s main\n"
    )


def test_an_entry_with_no_option_left_has_no_brackets():
    assert source_lines("deb [ arch=amd64 ] http://a.example/ s main") == "deb-src http://a.example/ s main\n"


def test_an_archive_that_lists_sources_already_comes_once():
    text = "deb http://a.example/ s main\ndeb-src http://a.example/ s main\n#deb http://off.example/ s main\n"
    assert source_lines(text) == "deb-src http://a.example/ s main\n"


@pytest.mark.parametrize("text", ["", "# nothing\n", "debx http://a.example/ s main\n", "deb\n"])
def test_texts_without_entries_give_none(text):
    assert source_lines(text) == ""
    assert source_stanzas(text) == ""


STANZAS = """Types: deb
# a remark
URIs: http://archive.example/debian
Suites: stable stable-updates
Components: main
Architectures: amd64
Signed-By: /usr/share/keyrings/a.gpg

Enabled: no
Types: deb
URIs: http://off.example/
Suites: s
Components: main
"""


def test_stanzas_become_source_stanzas():
    assert source_stanzas(STANZAS) == (
        "Types: deb-src\nURIs: http://archive.example/debian\nSuites: stable stable-updates\n"
        "Components: main\nSigned-By: /usr/share/keyrings/a.gpg\n"
    )


def test_a_key_inside_a_stanza_stays_whole():
    text = "Types: deb deb-src\nURIs: http://a.example/\nSuites: s\nSigned-By:\n -----BEGIN\n .\n abc\n"
    assert source_stanzas(text) == (
        "Types: deb-src\nURIs: http://a.example/\nSuites: s\nSigned-By:\n -----BEGIN\n .\n abc\n"
    )


@pytest.mark.parametrize(
    ("versions", "newest"),
    [
        (["0.4.7.16-1", "0.4.9.9-1", "0.4.9.11-0+deb12u1"], "0.4.9.11-0+deb12u1"),
        (["0.4.9.11-1~bpo12+1", "0.4.9.11-1"], "0.4.9.11-1"),
        (["0.4.9.11-1", "0.4.9.11-1+b1"], "0.4.9.11-1+b1"),
        (["0.4.8.16-1", "0.5.0.1-1", "0.4.90.1-1"], None),
        ([], None),
    ],
)
def test_the_newest_version_of_the_release_series_is_taken(versions, newest):
    assert newest_version(versions) == newest
