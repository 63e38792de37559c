"""Names that tor does not know are found before anything is built."""

from __future__ import annotations

import pytest

from torsweep.errors import InputError
from torsweep.study.change import Sides, read_change


@pytest.mark.parametrize(
    ("torrc", "consensus", "problem"),
    [
        ((), ("cc_algg=0",), "--consensus: is not a consensus parameter .*did you mean 'cc_alg'"),
        ((), ("DIR=1",), "--consensus: is not a consensus parameter"),
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
