"""What is asked of a tor, and how its refusal reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stand_ins import executable
from torsweep.errors import InputError, TorsweepError
from torsweep.tor.program import as_tor_writes, config_of, modules_of, options_of, refuse_options

TOR = r"""#!/bin/sh
echo "$1" >>"$0.asked"
warn() { echo "Nov 23 07:54:25.124 [warn] $1"; }
fail() { warn "Failed to parse/validate config: $1"; echo "Nov 23 [err] Reading config failed"; exit 1; }
case "$* " in
*" --dump-config short "*) sed -n 's/^CacheDNS 2/CacheDNS 1/p; s/ 1 msec$/ 1/p; /^Log/p' "$2"; exit ;;
esac
case "$1" in
--list-torrc-options) printf 'CacheDNS\nKISTSchedRunInterval\n' ;;
--list-modules) printf 'relay: yes\ndirauth: yes\npow: no\n' ;;
--verify-config)
    warn "You are running Tor as root. You don't need to, and you probably shouldn't."
    grep -q '^DirAuthority ' "$3" || fail 'no authorities.'
    grep -q '^KISTShedRunInterval ' "$3" && fail "Unknown option 'KISTShedRunInterval'.  Failing."
    grep -q '^AllowDotExit ' "$3" && warn 'Skipping obsolete configuration option "AllowDotExit".'
    grep -q '^ORPort ' "$3" && grep -q '^BandwidthRate 1 ' "$3" && fail 'For servers, at least 76800.'
    grep -q '^ReachableAddresses ' "$3" && grep -q '^UseBridges ' "$3" && fail 'the two do not go together.'
    echo 'Configuration was valid' ;;
esac
"""


@pytest.fixture
def tor(tmp_path: Path) -> Path:
    return executable(tmp_path / "tor", TOR)


def test_options_and_modules_are_what_tor_lists_and_it_is_asked_once(tor):
    for _ in range(2):
        assert options_of(tor) == {"CacheDNS", "KISTSchedRunInterval"}
        assert modules_of(tor) == {"relay", "dirauth"}
    asked = tor.with_name("tor.asked")
    assert asked.read_text().split() == ["--list-torrc-options", "--list-modules"]
    tor.write_text(TOR.replace("CacheDNS", "CacheDNSNot"))
    assert "CacheDNSNot" in options_of(tor)


def test_lines_that_tor_takes_are_taken(tor):
    refuse_options(tor, [], "relay")
    refuse_options(tor, ["CacheDNS 0", "KISTSchedRunInterval 1 msec"], "authority")
    refuse_options(tor, ["BandwidthRate 1 bytes"], "client")


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (
            ["CacheDNS 0", "KISTShedRunInterval 1 msec"],
            "KISTShedRunInterval 1 msec: tor refuses it: Unknown option 'KISTShedRunInterval'"
            " (did you mean 'KISTSchedRunInterval'?)",
        ),
        (
            ["BandwidthRate 1 bytes"],
            "BandwidthRate 1 bytes: tor refuses it: For servers, at least 76800",
        ),
        (["AllowDotExit 1"], 'AllowDotExit 1: tor refuses it: obsolete configuration option "AllowDotExit"'),
        (
            ["ReachableAddresses *:80", "UseBridges 1"],
            "ReachableAddresses *:80; UseBridges 1: tor refuses it: the two do not go together",
        ),
    ],
)
def test_a_line_that_tor_refuses_is_named_with_tors_own_words(tor, lines, text):
    with pytest.raises(InputError) as raised:
        refuse_options(tor, lines, "relay")
    assert str(raised.value) == text


def test_a_program_that_does_not_answer_is_named(tmp_path):
    silent = executable(tmp_path / "tor", "#!/bin/sh\nexit 0\n")
    with pytest.raises(TorsweepError, match="tor: has no answer to --list-torrc-options"):
        options_of(silent)
    silent.write_text("\x7fELF")
    with pytest.raises(TorsweepError, match=r"tor: does not answer --list-modules: .*Exec format error"):
        modules_of(silent)


def test_lines_are_written_as_tor_writes_them_and_what_it_has_anyway_is_its_default(tor):
    lines = ["kistschedruninterval 9 msec", "KISTSchedRunInterval 1 msec", "CacheDNS 0"]
    written = as_tor_writes(tor, lines, "relay", "default")
    assert written == {"KISTSchedRunInterval": "1", "CacheDNS": "default"}
    assert as_tor_writes(tor, ["CacheDNS 2"], "relay", "default") == {"CacheDNS": "1"}


def test_the_options_of_a_host_are_those_of_the_file_that_its_tor_reads_there(tor, tmp_path, monkeypatch):
    host = tmp_path / "host"
    host.mkdir()
    (host / "torrc").write_text("Log notice stdout\nCacheDNS 2\nLog info file log\n")
    monkeypatch.chdir(tmp_path)
    assert config_of(Path("tor"), ["-f", "torrc"], host) == {
        "Log": "notice stdout; info file log",
        "CacheDNS": "1",
    }
    tor.write_text("#!/bin/sh\necho broken\nexit 1\n")
    with pytest.raises(TorsweepError, match=r"does not say its options in .*host: broken$"):
        config_of(tor, ["-f", "torrc"], host)
