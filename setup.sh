#!/bin/sh
# Makes .venv with gpumem built from this folder: the simulator, and CUDA where nvcc is found.
# Arguments are extras: "sh setup.sh test" adds what the tests need.
set -eu
cd "$(dirname "$0")"

# Debian and Ubuntu keep venv and Python's headers apart from python3.
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
    python3 -m venv .venv
fi

extras=cli
for extra in "$@"; do
    extras="$extras,$extra"
done
echo "setup.sh: installing gpumem into .venv (a minute or two with nvcc)"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[$extras]"
echo "setup.sh: done"
