#!/bin/sh
# Every check of style and types, from the top of the repository in an activated environment.
# All of them run whatever the first ones say; the exit code is 1 when any has found something.
set -u

findings=0

check() {
    echo "lint: $*"
    "$@" || findings=1
}

# check_if_installed COMPONENT PACKAGE COMMAND…: Debian packages these two apart from cargo.
check_if_installed() {
    component=$1
    package=$2
    shift 2
    if "$component" --version >/dev/null 2>&1; then
        check "$@"
    else
        echo "lint: skipped $component, which is not installed: apt-get install $package"
    fi
}

check ruff check .
check ruff format --check .
check mypy
check lint-imports
check snakefmt --check Snakefile rules
check python setup/lint_workflow.py
check_if_installed rustfmt rustfmt cargo fmt --all --check
check_if_installed clippy-driver rust-clippy \
    cargo clippy --quiet --release --locked --workspace --all-targets -- --deny warnings

exit "$findings"
