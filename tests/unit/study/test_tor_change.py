"""What the command line names becomes two levels of one knob, or one line that says why not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.study.conftest import commit, git
from torsweep.errors import InputError
from torsweep.study import named_tor
from torsweep.study.named_tor import name_of_level
from torsweep.study.tor_change import Sides, read_change
from torsweep.tor import arti


@pytest.fixture(autouse=True)
def series_applies(nothing_tried: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The series goes with every source, unless a test says otherwise."""
    monkeypatch.setattr(named_tor, "_why_not", lambda tor: "it is a program" if tor.is_program else "")


def test_a_branch_is_compared_with_where_it_left_main(repository: Path) -> None:
    change = read_change(Sides(f"{repository}@my-branch"))
    base, own = (git(repository, "rev-parse", name) for name in ("left-here", "my-branch"))
    assert change.knobs == {"tor": ("merge_base", "my_branch")}
    assert change.tors == {
        "merge_base": {"git": str(repository), "revision": base},
        "my_branch": {"git": str(repository), "revision": own},
    }
    assert change.notes == (f"baseline: main at {base[:12]}, where my-branch ({own[:12]}) left it",)


def test_a_commit_of_main_is_compared_with_debians_tor(repository: Path) -> None:
    change = read_change(Sides(f"{repository}@main"))
    assert change.knobs == {"tor": ("stock", "main")}
    assert change.tors.keys() == {"main"}, "stock is defined in every experiment"
    commit_id = git(repository, "rev-parse", "main")[:12]
    assert change.notes == (
        f"baseline: Debian's tor, as main ({commit_id}) has left no main branch of its repository",
    )


def test_the_main_branch_may_be_that_of_the_repositorys_origin(repository: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(repository), str(clone))
    git(clone, "checkout", "-q", "-b", "mine", "origin/my-branch")
    git(clone, "branch", "-D", "main")
    assert read_change(Sides(f"{clone}@mine")).notes[0].startswith("baseline: origin/HEAD at ")


def test_of_the_main_branches_the_one_that_was_left_last_counts(repository: Path, tmp_path: Path) -> None:
    git(repository, "branch", "-m", "main", "master")
    git(tmp_path, "clone", "-q", str(repository), "clone")
    clone = tmp_path / "clone"
    git(repository, "branch", "-m", "master", "main")
    commit(repository, "int interval = 10; int newer;\n")
    git(clone, "fetch", "-q")
    git(clone, "checkout", "-q", "-b", "mine", "origin/main")
    commit(clone, "int interval = 1; int newer;\n")
    newest = git(repository, "rev-parse", "main")
    assert read_change(Sides(f"{clone}@mine")).notes[0].startswith(f"baseline: origin/main at {newest[:12]},")
    git(clone, "checkout", "-q", "-B", "master", "mine")
    notes = read_change(Sides(f"{clone}@master")).notes
    assert notes[0].startswith(f"baseline: origin/main at {newest[:12]},"), "a local branch may be ahead"


def test_a_shallow_clone_without_the_parent_is_refused(repository: Path, tmp_path: Path) -> None:
    address = f"file://{repository}"
    git(tmp_path, "clone", "-q", "--depth", "1", "-b", "my-branch", address, "shallow")
    with pytest.raises(InputError, match=r"shallow clone.*git fetch --unshallow"):
        read_change(Sides(f"{tmp_path / 'shallow'}@my-branch"))
    words = ("fetch", "-q", "--unshallow", "origin", "main:refs/remotes/origin/main")
    git(tmp_path / "shallow", *words)
    base = git(repository, "rev-parse", "left-here")
    notes = read_change(Sides(f"{tmp_path / 'shallow'}@my-branch")).notes
    assert notes[0].startswith(f"baseline: origin/main at {base[:12]},")


def test_a_repository_without_a_revision_is_its_head_and_has_to_be_committed(repository: Path) -> None:
    assert read_change(Sides(str(repository))).level == "tor"
    (repository / "kist.c").write_text("int other;\n")
    with pytest.raises(InputError, match="not committed"):
        read_change(Sides(str(repository)))


def test_changes_that_are_not_committed_are_said_to_be_left_out(repository: Path) -> None:
    git(repository, "checkout", "-q", "my-branch")
    assert len(read_change(Sides(f"{repository}@my-branch")).notes) == 1
    (repository / "kist.c").write_text("int other;\n")
    commit_id = git(repository, "rev-parse", "my-branch")[:12]
    said = f"my-branch ({commit_id}) is taken as committed, without the uncommitted changes in kist.c"
    assert read_change(Sides(f"{repository}@my-branch")).notes[0] == said
    assert said not in read_change(Sides(f"{repository}@left-here")).notes


def test_the_content_follows_the_branch(repository: Path) -> None:
    before = read_change(Sides(f"{repository}@my-branch"))
    git(repository, "checkout", "-q", "my-branch")
    commit(repository, "int interval = 2;\n")
    after = read_change(Sides(f"{repository}@my-branch"))
    assert before.content != after.content and before.level == after.level


def test_a_patch_goes_on_top_of_debians_source_or_of_the_baselines(patch: Path, repository: Path) -> None:
    change = read_change(Sides(f"patch:{patch}"))
    assert change.knobs == {"tor": ("stock", "kist_idle")}
    assert change.tors == {"kist_idle": {"source": "debian", "patches": [str(patch)]}}
    change = read_change(Sides(f"patch:{patch}", baseline=f"{repository}@main"))
    assert change.tors["kist_idle"] == {**change.tors["main"], "patches": [str(patch)]}


def test_two_tarballs(tmp_path: Path) -> None:
    for version in ("8.17", "9.11"):
        (tmp_path / f"tor-0.4.{version}.tar.gz").write_text(version)
    change = read_change(Sides(str(tmp_path / "tor-0.4.9.11.tar.gz"), str(tmp_path / "tor-0.4.8.17.tar.gz")))
    assert change.knobs == {"tor": ("tor_0_4_8_17", "tor_0_4_9_11")}
    assert change.tors["tor_0_4_9_11"]["sha256"] == change.content[1]
    assert (change.words, change.against) == ("tor-0.4.9.11.tar.gz", "tor-0.4.8.17.tar.gz")


def test_the_same_tor_again() -> None:
    change = read_change(Sides("same"))
    assert (change.knobs, change.tors) == ({"tor": ("stock", "again")}, {"again": {"same": "stock"}})
    assert change.words == "Debian's tor once more"


def test_with_a_program_both_go_without_the_series(program: Path, repository: Path) -> None:
    change = read_change(Sides(str(program)))
    assert change.knobs == {"tor": ("plain", "my_tor")}
    assert change.tors["plain"] == {"source": "debian", "series": "none"}
    assert change.tors["my_tor"] == {"program": str(program)}
    assert change.notes == ("both are built without the project's patches: it is a program",)
    change = read_change(Sides("same", baseline=str(program)))
    assert change.tors == {"my_tor": {"program": str(program)}, "again": {"same": "my_tor"}}


@pytest.mark.parametrize(
    ("on", "where", "mix"),
    [
        ("role=relay,share=0.3", {"role": "relay"}, {"kist_idle": 0.3, "stock": 0.7}),
        ("role=client", {"role": "client"}, {"kist_idle": 1.0}),
        ("position=guard+exit", {"position": ["guard", "exit"]}, {"kist_idle": 1.0}),
        ("names=relay1+relay2", {"names": ["relay1", "relay2"]}, {"kist_idle": 1.0}),
    ],
)
def test_some_hosts_run_the_candidate(patch: Path, on: str, where: object, mix: object) -> None:
    change = read_change(Sides(f"patch:{patch}", on=on))
    assert change.knobs == {"tor": ("stock", "some_kist_idle")}
    assert change.tors["some_kist_idle"] == {"mix": mix, "on": where}
    assert change.words == f"Debian's tor with kist-idle.patch on {on}"


def test_options_and_parameters_are_one_bundle() -> None:
    change = read_change(
        Sides(torrc=("KISTSchedRunInterval 1 msec", "NumCPUs 2"), consensus=("cc_alg=0",), on="role=relay")
    )
    assert change.knobs == {"options": ("default", change.level)}
    assert change.options[change.level] == {
        "torrc": {"KISTSchedRunInterval": "1 msec", "NumCPUs": "2"},
        "consensus": {"cc_alg": 0},
        "on": {"role": "relay"},
    }
    assert change.tors == {}
    assert change.baseline == {"options": "default"}


def test_options_can_be_judged_in_another_tor(repository: Path) -> None:
    change = read_change(Sides(baseline=f"{repository}@my-branch", torrc=("NewOption 1",)))
    assert change.knobs == {"options": ("default", "newoption_1"), "tor": ("my_branch",)}
    assert change.against.startswith("my-branch (")
    assert (change.knob, change.baseline) == ("options", {"options": "default", "tor": "my_branch"})


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (Sides(), "nothing is changed; accepted: --candidate"),
        (Sides("debian"), "--candidate: is the tor of the baseline, got 'debian'; accepted: another tor, or"),
        (Sides("gone.tar.gz"), "--candidate: no such file or folder, got 'gone.tar.gz'; accepted: PATH"),
        (Sides("same", baseline="nowhere"), "--baseline: no such file or folder, got 'nowhere'"),
        (Sides("nowhere@main"), "--candidate: no such repository, got 'nowhere'"),
        (Sides("patch:gone.patch"), "--candidate: no such patch, got 'gone.patch'"),
        (Sides("same", baseline="same"), "--baseline: is no baseline, got 'same'"),
        (Sides("same", torrc=("A 1",)), "--candidate: changes tor and its options at once"),
        (Sides("same", on="role=relay"), "--on: says which hosts differ, but none does, got 'role=relay'"),
        (Sides(torrc=("A 1",), on="role=relay,share=1.5"), "--on: share: is not accepted, got 1.5"),
        (Sides(torrc=("A 1",), on="relays"), "--on: is no key=value, got 'relays'; accepted: role=relay"),
        (Sides(torrc=("A 1",), on="share="), "--on: says no name and value"),
        (Sides(torrc=("A 1",), on="role=bridge"), "--on: role: is not accepted, got 'bridge'"),
        (Sides(torrc=("A 1",), on="role=relay,role=client"), "--on: names this twice, got 'role'"),
        (Sides(torrc=("CacheDNS",)), "--torrc: says no name and value, got 'CacheDNS'"),
        (Sides(torrc=("A 1", "A 2")), "--torrc: names this twice, got 'A'"),
        (Sides(consensus=("cc_alg",)), "--consensus: no whole number, got 'cc_alg'"),
        (Sides(consensus=("cc_alg=fast",)), "--consensus: no whole number, got 'cc_alg=fast'"),
        (Sides(consensus=("cc_alg=0",), on="role=relay"), "--on: says which hosts get torrc lines"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(asked: Sides, problem: str) -> None:
    with pytest.raises(InputError, match=re.escape(problem)) as refused:
        read_change(asked)
    assert "\n" not in str(refused.value)


def test_what_is_there_and_is_no_tor(tmp_path: Path, repository: Path, program: Path, patch: Path) -> None:
    (tmp_path / "notes.txt").write_text("years of work")
    with pytest.raises(InputError, match="is no tor, got"):
        read_change(Sides(str(tmp_path / "notes.txt")))
    (tmp_path / "notes").mkdir()
    with pytest.raises(InputError, match="is no tor, got"):
        read_change(Sides(str(tmp_path / "notes")))
    program.write_text("#!/bin/sh\necho git version 2\n")
    with pytest.raises(InputError, match="not run here as tor; its answer to --version is: git version 2"):
        read_change(Sides(str(program)))
    program.write_text("#!/bin/sh\necho Tor version 0.4.8.17.\n")
    with pytest.raises(InputError, match=r"no such revision \(did you mean 'my-branch'\?\)"):
        read_change(Sides(f"{repository}@my-branhc"))
    with pytest.raises(InputError, match="a patch needs a source, and the baseline is a program"):
        read_change(Sides(f"patch:{patch}", baseline=str(program)))
    with pytest.raises(InputError, match="is the tor of the baseline"):
        read_change(Sides(f"{repository}@main", baseline=f"{repository}@main"))


def test_a_commit_that_changes_no_file_is_the_tor_of_its_baseline(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "empty", "left-here")
    git(repository, "commit", "-q", "--allow-empty", "-m", "nothing")
    with pytest.raises(InputError, match="has the same content as the baseline, main at "):
        read_change(Sides(f"{repository}@empty"))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("my-branch", "my_branch"),
        ("feature/KIST_idle", "feature_kist_idle"),
        ("0.4.9", "tor_0_4_9"),
        ("ü", "tor"),
        ("a" * 100, "a" * 59),
        ("KISTSchedRunInterval 100 msec on role=relay", "kistschedruninterval_100_msec_on_role_relay"),
        (", ".join(["NumCPUs 16"] * 9), "numcpus_16_numcpus_16_numcpus_16_numcpus_16_numcpus_16"),
    ],
)
def test_names_of_levels(text: str, name: str) -> None:
    assert name_of_level(text) == name


def test_arti_is_for_clients_and_compared_with_debians_tor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arti, "_why_unpublished", lambda version: "")
    change = read_change(Sides("arti"))
    assert change.knobs == {"tor": ("stock", "arti_2_7_0")}
    assert change.tors == {"arti_2_7_0": {"arti": "2.7.0"}}
    assert (change.words, change.has_arti, change.notes) == ("Arti 2.7.0", True, ())
    half = read_change(Sides("arti@2.6.1", on="role=client,share=0.5")).tors["some_arti_2_6_1"]
    assert half == {"mix": {"arti_2_6_1": 0.5, "stock": 0.5}, "on": {"role": "client"}}
    with pytest.raises(InputError, match="--on: Arti runs on clients alone"):
        read_change(Sides("arti", on="role=relay,share=0.3"))
    program = tmp_path / "mine"
    program.write_text("#!/bin/sh\necho arti 2.7.0\n")
    program.chmod(0o755)
    assert read_change(Sides(str(program))).tors == {"mine": {"arti": str(program)}}
    same = read_change(Sides("same", "arti"))
    assert same.tors == {"arti_2_7_0": {"arti": "2.7.0"}, "again": {"same": "arti_2_7_0"}}


def test_a_commit_of_artis_repository_is_arti(repository: Path) -> None:
    (repository / "crates/arti").mkdir(parents=True)
    (repository / "crates/arti/Cargo.toml").write_text("")
    git(repository, "add", "crates")
    own = commit(repository, "int arti;\n")
    tors = read_change(Sides(f"{repository}@main")).tors
    assert tors == {"main": {"arti": str(repository), "revision": own}}


def test_a_legend_has_whole_words_of_a_change_and_its_hosts() -> None:
    change = read_change(Sides(torrc=("KISTSchedRunInterval 100 msec",), on="role=relay"))
    assert change.short_words == change.words == "KISTSchedRunInterval 100 msec on role=relay"
    lines = ("KISTSchedRunInterval 100 msec", "ConnectionPadding 0", "CellStatistics 1")
    change = read_change(Sides(torrc=lines, on="role=relay"))
    assert change.short_words == "KISTSchedRunInterval 100 msec, … on role=relay"
