# cache.sh - where downloads are kept, and how a package is fetched there. To be sourced: `. scripts/cache.sh`
#
# Everything that is downloaded lies under $CACHE and nowhere else; what is there is never fetched again.
# fetch NAME==VERSION MB   unpacks one package of PyPI (without its dependencies) into $CACHE/pypi/NAME-VERSION; what
#                          follows is for pip.
# venv                     makes $CACHE/venv, a Python with what tests/requirements.txt lists, if it is not there.

CACHE=${NOKERNEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/nokernel}
PYTHON=$CACHE/venv/bin/python
REQUIREMENTS=$(dirname "${BASH_SOURCE[0]}")/../tests/requirements.txt

say() { printf '%s\n' "$*" >&2; }
die() {
    say "$0: $*"
    exit 1
}

# Whatever pip is told by the user's own settings (an index, a proxy) holds. Its cache stays off: ours is enough.
pip_install() {
    "$PYTHON" -m pip install --quiet --no-cache-dir --disable-pip-version-check --only-binary :all: "$@"
}

fetch() {
    local dir=$CACHE/pypi/${1/==/-} part
    [ -d "$dir" ] && return 0
    part=$dir.part.$$
    say "  downloading $1 ($2 MB)"
    mkdir -p "$part" || die "cannot write to $CACHE (NOKERNEL_CACHE names another folder)"
    if ! pip_install --no-deps --no-compile --no-warn-script-location --target "$part" "${@:3}" "$1"; then
        rm -rf "$part"
        die "$1 could not be downloaded from PyPI: see pip's words above; what came before it is kept"
    fi
    # A second make may have been quicker: then its folder stays.
    mv -T "$part" "$dir" 2>/dev/null || rm -rf "$part"
    [ -d "$dir" ]
}

# The first python3 that is new enough and can make a virtual environment (Debian splits that off as python3-venv).
base_python() {
    local p
    for p in python3 /usr/bin/python3; do
        "$p" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo "$p" && return 0
    done
    die "no python3 of version 3.10 or newer with venv: install python3 and python3-venv"
}

venv() {
    cmp -s "$REQUIREMENTS" "$CACHE/venv/requirements.txt" && "$PYTHON" -c '' 2>/dev/null && return 0
    local base
    base=$(base_python) || exit 1
    say "  making a Python environment in $CACHE/venv (10 MB of packages: pytest, jsonschema and what they need)"
    mkdir -p "$CACHE" || die "cannot write to $CACHE (NOKERNEL_CACHE names another folder)"
    "$base" -m venv --clear "$CACHE/venv" || die "$base could not make a virtual environment: install python3-venv"
    pip_install -r "$REQUIREMENTS" || die "the packages of tests/requirements.txt could not be downloaded from PyPI"
    cp "$REQUIREMENTS" "$CACHE/venv/requirements.txt"
}
