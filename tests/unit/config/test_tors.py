"""A tor of an experiment: one answer to what it is, and the command that builds it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from torsweep.config.option_bundle import Where
from torsweep.config.reading import RefusedValue, validate
from torsweep.config.tors import STOCK, TorSource, VariantTors, check_tors, variant_tors
from torsweep.errors import InputError


def tor(**keys: Any) -> TorSource:
    return validate(TorSource, keys, "experiment.yaml")


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"source": "debian"}, []),
        ({"source": "tor.tar.gz", "series": "none"}, ["--source", "tor.tar.gz", "--series", "none"]),
        ({"source": "tor.tar.gz", "sha256": "a" * 64}, ["--source", "tor.tar.gz", "--sha256", "a" * 64]),
        ({"git": "../tor"}, ["--git", "../tor", "--revision", "HEAD"]),
        ({"git": "../tor", "revision": "mine"}, ["--git", "../tor", "--revision", "mine"]),
        ({"source": "debian", "patches": ["a", "b"]}, ["--patch", "a", "--patch", "b"]),
        ({"program": "src/app/tor"}, ["--program", "src/app/tor"]),
    ],
)
def test_a_tor_is_built_by_its_own_command(keys, words):
    assert tor(**keys).arguments() == words


def test_what_names_other_tors_has_nothing_to_build():
    mix = tor(mix={"stock": 0.5, "branch": 0.5})
    assert mix.named == ("stock", "branch")
    assert mix.on.role == "relay"
    assert tor(same="stock").named == ("stock",)
    # Shares of a few digits make a whole.
    assert tor(mix={"a": 0.3333333, "b": 0.3333333, "c": 0.3333334}).named == ("a", "b", "c")
    for one in (mix, tor(same="stock")):
        with pytest.raises(ValueError, match="names other tors"):
            one.arguments()


def test_only_debians_release_with_the_series_is_stock():
    assert STOCK.is_stock and tor(source="debian").is_stock
    assert not tor(source="debian", series="none").is_stock
    assert not tor(source="debian", patches=["a"]).is_stock
    assert not tor(source="tor.tar.gz").is_stock
    assert tor(source="tor.tar.gz").path == Path("tor.tar.gz")


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ({}, "does not say what this tor is; accepted: one of source, git, program, arti, same, mix"),
        ({"source": "debian", "git": "x"}, "git: says a second time what this tor is, beside source"),
        ({"program": "x", "series": "none"}, "series: means nothing beside program; accepted: source or git"),
        ({"source": "debian", "revision": "x"}, "revision: means nothing beside source; accepted: git or"),
        ({"source": "debian", "sha256": "a" * 64}, "sha256: means nothing beside Debian's package"),
        ({"source": "x", "sha256": "abc"}, "sha256: String should match pattern"),
        ({"source": "x", "on": {"role": "relay"}}, "on: means nothing beside source; accepted: mix"),
        ({"source": "x", "patches": ["a", "a"]}, r"patches\[1\]: is given twice, got 'a'"),
        ({"mix": {"a": 0, "b": 1}}, "mix.a: is not accepted, got 0; accepted: greater than or equal"),
        ({"mix": {"a": 0.5, "b": 0.4}}, "mix: the shares do not sum to 1, got '0.9'; accepted: a sum of 1"),
        ({"mix": {}}, "mix: mixes no tors"),
    ],
)
def test_a_wrong_tor_is_refused_in_one_line(keys, line):
    with pytest.raises(InputError, match=line) as raised:
        tor(**keys)
    assert str(raised.value).startswith("experiment.yaml: ")
    assert "\n" not in str(raised.value)


ARTI = {"stock": STOCK, "plain": tor(source="debian", series="none"), "arti": tor(arti="2.7.0")}


def test_clients_alone_run_arti():
    all_of_them = variant_tors(ARTI, "arti", "plain")
    assert all_of_them == VariantTors("plain", {"arti": 1.0}, Where(role="client"))
    again = {**ARTI, "again": tor(same="arti")}
    assert variant_tors(again, "again", "arti") == replace(all_of_them, main="stock", repeat=1)
    half = tor(mix={"arti": 0.5, "plain": 0.5}, on={"role": "client"})
    check_tors({**ARTI, "half": half})
    with pytest.raises(RefusedValue, match=r"cannot run Arti \(arti\)"):
        check_tors({**ARTI, "half": half.model_copy(update={"on": Where()})})
