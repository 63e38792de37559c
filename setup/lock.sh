#!/bin/sh
# Write requirements.lock and setup/site.lock from pyproject.toml: one version of each package for Python 3.11 and
# later, with hashes and without addresses. Versions are at least two months old, so that conda channels have
# them too. Needs uv on PATH; environment.yml must be brought in line by hand (a test compares them).
set -eu

cd "$(dirname "$0")/.."

# lock FILE WHAT…: the versions of WHAT.
lock() {
    file=$1
    shift
    uv pip compile "$@" --universal --python-version 3.11 --fork-strategy fewest \
        --exclude-newer "$(date --date '60 days ago' +%Y-%m-%d)" --upgrade --quiet \
        --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header \
        --output-file "$file"
}

lock requirements.lock pyproject.toml --extra dev --extra pandas --extra slurm
# What only `make site` needs, beside the packages above.
lock setup/site.lock --group pyproject.toml:docs --constraints requirements.lock
