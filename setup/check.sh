#!/bin/sh
# Is everything here that `make setup` cannot install by itself?
# Out: the Python interpreter to use, on standard output. For each thing missing: one line on standard
# error that names Debian's package, and exit code 3.
set -u

missing=0

report() {
    printf 'torsweep: %s\n' "$1" >&2
    missing=1
}

# version_at_least FOUND WANTED: are the first two numbers of FOUND at least those of WANTED?
version_at_least() {
    printf '%s %s\n' "$1" "$2" | awk '{
        split($1, found, "."); split($2, wanted, ".")
        exit !(found[1] + 0 > wanted[1] + 0 || (found[1] + 0 == wanted[1] + 0 && found[2] + 0 >= wanted[2] + 0))
    }'
}

python_wanted=3.11
# The oldest Rust is stated once, in the workspace's manifest.
manifest=$(dirname "$0")/../Cargo.toml
rust_wanted=$(sed -n 's/^rust-version *= *"\([0-9.]*\)".*/\1/p' "$manifest")

python=
python_seen=none
for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
    version=$("$candidate" -c 'import platform; print(platform.python_version())' 2>/dev/null) || continue
    if version_at_least "$version" "$python_wanted"; then
        python=$candidate
        break
    fi
    python_seen=$version
done

if [ -z "$python" ]; then
    report "Python $python_wanted or later is needed, found $python_seen: apt-get install python3 python3-venv (Debian 12 or later)"
elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    report "Python's venv module is missing: apt-get install python3-venv"
fi

how_to_get_rust='apt-get install cargo (Debian 13 or later), or rustup: see https://rustup.rs'
if ! command -v cargo >/dev/null || ! command -v rustc >/dev/null; then
    report "a Rust tool chain ($rust_wanted or later) is needed: $how_to_get_rust"
else
    rust_found=$(rustc --version 2>/dev/null | awk '{print $2}')
    if ! version_at_least "${rust_found:-0}" "$rust_wanted"; then
        report "Rust $rust_wanted or later is needed, found ${rust_found:-none that runs}: $how_to_get_rust"
    fi
fi

# Rust links with the C compiler, so a compiler without the C library's files is no use either.
program=$(mktemp)
if ! command -v cc >/dev/null || ! echo 'int main(void) { return 0; }' | cc -x c -o "$program" - 2>/dev/null; then
    report "a C compiler that links is needed: apt-get install build-essential"
fi
rm -f "$program"

# PATH is parted by colons, first lines of scripts by blanks, and the others end a text of the shell.
checkout=$(cd "$(dirname "$0")/.." && pwd)
case $checkout in
    *[[:space:]\"\$\`\\:]*) report "a checkout cannot be in a path with a blank or one of \" \$ \` \\ : (here $checkout): move it" ;;
esac

[ "$missing" -eq 0 ] || exit 3
echo "$python"
