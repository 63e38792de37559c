"""Names that tor does not know, and values that it does not take, are found before anything is built."""

from __future__ import annotations

import io
import tarfile

import pytest

from torsweep.errors import InputError
from torsweep.study.tor_change import Sides, read_change
from torsweep.tor.names import _number, defaults_of, names_in


@pytest.mark.parametrize(
    ("torrc", "consensus", "problem"),
    [
        ((), ("cc_algg=0",), "--consensus: is not a consensus parameter .*did you mean 'cc_alg'"),
        ((), ("DIR=1",), "--consensus: is not a consensus parameter"),
        ((), ("cc_alg=7",), "--consensus: tor would take 2 in its place, got 'cc_alg=7'; accepted: 0 or 2"),
        ((), ("cc_alg=1",), "--consensus: tor would take 2 in its place, got 'cc_alg=1'; accepted: 0 or 2"),
        ((), ("cc_vegas_alpha_exit=-5",), "--consensus: tor would take 0 in its place"),
        ((), ("cc_vegas_gamma_onion=2147483647",), "--consensus: tor would take 1000 in its place"),
        ((), ("cc_sendme_inc=0",), "--consensus: tor would take 1 in its place"),
        (("NumCPUz 1",), (), "--torrc: is not an option of a torrc .*did you mean 'NumCPUs'"),
        (("cc_alg 0",), (), "--torrc: is a consensus parameter.*accepted: --consensus"),
        ((), ("NumCPUs=1",), "--consensus: is an option of a torrc.*accepted: --torrc"),
        ((), ("StreamPackaging=1",), "--consensus: is an option of a torrc.*accepted: --torrc"),
    ],
)
def test_a_name_that_tor_does_not_know(torrc, consensus, problem):
    with pytest.raises(InputError, match=problem):
        read_change(Sides(None, None, torrc, consensus, None))


def test_parameters_and_options_of_tor_and_of_the_series_are_taken():
    for name in ("cc_alg=0", "guard-n-primary-guards-to-use=1", "cc_vegas_alpha_exit=2"):
        assert read_change(Sides(consensus=(name,))).words == name
    for line in ("numcpus 2", "SocksTimeout 9", "DoSConnectionEnabled 1", "TCPNoDelay 0"):
        assert read_change(Sides(torrc=(line,))).words == line


def test_names_and_ranges_are_read_from_the_source(tmp_path):
    code = """#define LEAST (2*30) /* a minute */
    #define MOST_PLUS (LEAST+41)
    #define MOST (MOST_PLUS-1) // seconds
    int a = networkstatus_get_param(NULL, "nf_a", 7, LEAST, MOST);
    int b = networkstatus_get_param(ns, "nf_b", 0, 0, INT32_MAX);
    int c = networkstatus_get_param(ns, "nf_c", 0, 0, most_of(ns));
    const char *name = NULL; if (b) name = "nf_d"; else name = "nf_e";
    if (c < networkstatus_get_param(ns, name, 7, (a_t)1, 16 * 1024 / 514) * CELL && c) return;
    """
    with tarfile.open(tmp_path / "tor.tar.gz", "w:gz") as archive:
        file = tarfile.TarInfo("tor/src/a.c")
        file.size = len(code)
        archive.addfile(file, io.BytesIO(code.encode()))
    named = ["parameter nf_a 60 100", "parameter nf_b 0 2147483647", "parameter nf_c"]
    named += ["parameter nf_d 1 31", "parameter nf_e 1 31"]
    assert list(names_in(tmp_path / "tor.tar.gz")) == named


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("010", "8"),
        ("0x1F", "31"),
        ("1000UL", "1000"),
        ("2 + 3 * (4 - 1)", "11"),
        ("-7 / 2", "-3"),
        ("9 - 3 - 2", "4"),
        ("16*1024/514", "31"),
        ("08", ""),
        ("1 / 0", ""),
        ("(1", ""),
        ("1 2", ""),
        ("least()", ""),
        ("2 ** 9", ""),
    ],
)
def test_constants_are_read_as_c_reads_them(text, value):
    assert _number(text, {}) == value


def test_defaults_are_read_from_a_source(tmp_path):
    core, test = tmp_path / "src/core", tmp_path / "src/test"
    core.mkdir(parents=True)
    test.mkdir()
    code = 'int a = networkstatus_get_param(NULL, "nf_a", USUAL, 0, 9);\n'
    (core / "a.c").write_text(f'{code}int b = networkstatus_get_param(NULL, "nf_b", usual(), 0, 9);\n')
    (core / "a.h").write_text("#define USUAL (3 * 2) // as it was\n")
    (core / "config.c").write_text('  V(SomeInterval, MSEC_INTERVAL, "0 msec"),\n  V(Other, STRING, NULL),\n')
    (test / "a.c").write_text(code.replace("USUAL", "8"))
    assert defaults_of(tmp_path) == {
        ("consensus", "nf_a"): "6",
        ("consensus", "nf_b"): "usual()",
        ("torrc", "SomeInterval"): '"0 msec"',
        ("torrc", "Other"): "NULL",
    }
