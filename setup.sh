#!/bin/sh
# Creates .venv and installs gpumem from this folder: the simulator, and CUDA kernels if nvcc and a
# GPU are found. Arguments are extras: "sh setup.sh test" also installs what the tests need.
set -eu
cd "$(dirname "$0")"

# On Debian and Ubuntu, venv and Python's headers are separate packages.
complete() {
    python3 - <<'EOF'
import ensurepip, os, sys, sysconfig, venv
sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))
EOF
}

if [ ! -x .venv/bin/python ]; then
    if ! complete 2>/dev/null; then
        if ! command -v apt-get >/dev/null; then
            echo "setup.sh: python3 lacks venv or its headers; install them first" >&2
            exit 1
        fi
        echo "setup.sh: installing python3-venv and python3-dev"
        as_root=
        [ "$(id -u)" -eq 0 ] || as_root=sudo
        $as_root apt-get update -qq
        $as_root env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends python3-venv python3-dev >/dev/null
    fi
    echo "setup.sh: making .venv"
    python3 -m venv .venv
fi

extras=cli
for extra in "$@"; do
    extras="$extras,$extra"
done
install() { .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@"; }

# Build before pip does, because pip hides the build's progress; pip then reuses the compiled
# objects.
echo "setup.sh: installing what the build needs"
# shellcheck disable=SC2046 # one word per requirement, as pyproject.toml lists them
install $(sed -n 's/^requires = \[\(.*\)\]$/\1/p' pyproject.toml | tr -d '",')
.venv/bin/python csrc/build.py
echo "setup.sh: installing gpumem into .venv, with: $extras"
install --no-build-isolation --editable ".[$extras]"
echo "setup.sh: done"
