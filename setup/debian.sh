#!/bin/sh
# Which Debian packages of setup/debian_packages.txt are missing on this machine?
#
#   setup/debian.sh            names them
#   setup/debian.sh install    installs them, where this user is root and has apt-get, and names what is left
#
# A package counts as there when its program is on PATH, from wherever that came. Out: for each kind of use that
# lacks something one line on standard error, and exit code 3.
set -u

list=$(dirname "$0")/debian_packages.txt
PATH=$PATH:/usr/sbin:/sbin

is_here() {
    if [ "$2" != - ] && command -v "$2" >/dev/null; then
        return 0
    fi
    [ "$(dpkg-query --show --showformat '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Lines "USE PACKAGE" of what is missing.
missing() {
    sed 's/#.*//' "$list" | while read -r package program use; do
        [ -z "$package" ] || is_here "$package" "$program" || echo "$use $package"
    done
}

if [ "${1:-}" = install ] && [ -n "$(missing)" ]; then
    packages=$(missing | cut -d ' ' -f 2 | sort -u)
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        echo "setup: not root, or no apt-get: nothing is installed" >&2
    else
        export DEBIAN_FRONTEND=noninteractive
        apt-get update --quiet=2 </dev/null
        # One that cannot be had does not keep the others away.
        # shellcheck disable=SC2086
        apt-get install --quiet=2 --yes --no-install-recommends $packages </dev/null >/dev/null ||
            for package in $packages; do
                apt-get install --quiet=2 --yes --no-install-recommends "$package" </dev/null >/dev/null
            done
    fi
fi

left=$(missing)
[ -n "$left" ] || exit 0
echo "$left" | awk '
    $1 in packages { packages[$1] = packages[$1] " " $2; next }
    { uses[++count] = $1; packages[$1] = $2 }
    END { for (i = 1; i <= count; i++) printf "setup: %s lacks: apt-get install %s\n", uses[i], packages[uses[i]] }
' >&2
exit 3
