"""Names that tor does not know, and values that it does not take, are found before anything is built."""

from __future__ import annotations

import io
import tarfile

import pytest

from torsweep.errors import InputError
from torsweep.study.change import Sides, read_change
from torsweep.tor.names import names_in


@pytest.mark.parametrize(
    ("torrc", "consensus", "problem"),
    [
        ((), ("cc_algg=0",), "--consensus: is not a consensus parameter .*did you mean 'cc_alg'"),
        ((), ("DIR=1",), "--consensus: is not a consensus parameter"),
        ((), ("cc_alg=7",), "--consensus: tor would take 3 in its place, got 'cc_alg=7'; accepted: 0 to 3"),
        ((), ("cc_sendme_inc=0",), "--consensus: tor would take 1 in its place"),
        (("NumCPUz 1",), (), "--torrc: is not an option of a torrc .*did you mean 'NumCPUs'"),
        (("cc_alg 0",), (), "--torrc: is a consensus parameter.*accepted: --consensus"),
    ],
)
def test_a_name_that_tor_does_not_know(torrc, consensus, problem):
    with pytest.raises(InputError, match=problem):
        read_change(Sides(None, None, torrc, consensus, None))


@pytest.mark.parametrize("name", ["cc_alg=0", "guard-n-primary-guards-to-use=1", "cc_vegas_alpha_exit=2"])
def test_parameters_that_tor_reads(name):
    assert read_change(Sides(None, None, (), (name,), None)).words == name


@pytest.mark.parametrize("line", ["numcpus 2", "SocksTimeout 9", "DoSConnectionEnabled 1", "TCPNoDelay 0"])
def test_options_of_tor_and_of_the_series(line):
    assert read_change(Sides(None, None, (line,), (), None)).words == line


def test_names_and_ranges_are_read_from_the_source(tmp_path):
    code = """#define LEAST (2*30) /* a minute */
    #define MOST_PLUS (LEAST+41)
    #define MOST (MOST_PLUS-1) // seconds
    int a = networkstatus_get_param(NULL, "nf_a", 7, LEAST, MOST);
    int b = networkstatus_get_param(ns, "nf_b", 0, 0, INT32_MAX);
    int c = networkstatus_get_param(ns, "nf_c", 0, 0, most_of(ns));
    """
    with tarfile.open(tmp_path / "tor.tar.gz", "w:gz") as archive:
        file = tarfile.TarInfo("tor/src/a.c")
        file.size = len(code)
        archive.addfile(file, io.BytesIO(code.encode()))
    named = ["parameter nf_a 60 100", "parameter nf_b 0 2147483647", "parameter nf_c"]
    assert list(names_in(tmp_path / "tor.tar.gz")) == named
