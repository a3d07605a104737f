# Makes the environment that every script here runs in: Python, QEMU, .venv with the pinned wheels, runner images.
# Sourced, not run. Says what it is about to do and why before it asks apt for anything, and does nothing twice.
# shellcheck shell=bash

set -euo pipefail

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
VENV=$TOP/.venv
TORCH_CPU_INDEX=https://download.pytorch.org/whl/cpu

# Seconds of each part of the set-up, for the line at its end.
PARTS=()

say() { printf '\033[1m==>\033[0m %s\n' "$*"; }
die() { printf '\nerror: %s\n' "$*" >&2; exit 3; }

# took NAME COMMAND...: runs it, and keeps its seconds where it took any.
took() {
    local name=$1 began=${EPOCHREALTIME/[.,]/} tenths
    shift
    "$@"
    tenths=$(((${EPOCHREALTIME/[.,]/} - began) / 100000))
    [ "$tenths" -eq 0 ] || PARTS+=("$name $((tenths / 10)).$((tenths % 10)) s")
}

# apt_install WHY PACKAGE...: through sudo when we are not root; a clear end when neither works.
apt_install() {
    local why=$1; shift
    command -v apt-get >/dev/null || die "$why, and there is no apt-get here. Install by hand: $*"
    local sudo=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || die "$why, and this is neither root nor is there sudo. Ask an administrator for: apt-get install $*"
        sudo=(sudo)
    fi
    say "$why: apt-get install $*${sudo:+ (through sudo)}"
    "${sudo[@]}" apt-get update -qq || say "apt-get update failed, trying with the package lists at hand"
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null \
        || die "apt-get could not install: $*"
}

# A Python that the pinned wheels exist for, with venv and pip.
find_python() {
    local candidate
    for candidate in ${CORSTONE_PYTHON:-} python3.12 python3.13 python3.11 python3; do
        command -v "$candidate" >/dev/null || continue
        "$candidate" - <<'PY' 2>/dev/null && { printf '%s' "$candidate"; return; }
import ensurepip, sys, venv
sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))
PY
    done
    return 1
}

ensure_python() {
    PYTHON=$(find_python) && return
    apt_install "a Python from 3.11 to 3.13 with venv is needed" python3 python3-venv
    PYTHON=$(find_python) || die "no Python from 3.11 to 3.13 was found (the ExecuTorch wheels need one of them). \
Install one and set CORSTONE_PYTHON to it."
}

# ensure_command COMMAND WHY PACKAGE...
ensure_command() {
    command -v "$1" >/dev/null || apt_install "$2" "${@:3}"
}

# ensure_library SONAME WHY PACKAGE...
ensure_library() {
    ldconfig -p 2>/dev/null | grep -q "$1" || /sbin/ldconfig -p | grep -q "$1" || apt_install "$2" "${@:3}"
}

# pip_install ARGUMENTS...: of the environment's 16,600 modules a run imports a fifth; Python compiles those and keeps
# them when it first does. Where it is told to keep nothing, pip compiles all of them now.
pip_install() {
    local later=(--no-compile)
    [ -z "${PYTHONDONTWRITEBYTECODE:-}" ] || later=()
    "$VENV/bin/python" -m pip install -q --disable-pip-version-check "${later[@]}" "$@"
}

# torch from the CPU index: the default index has the CUDA build for Linux, several gigabytes that nothing here uses.
install_torch() {
    local pin
    pin=$(sed -n 's/^ *"\(torch==[^"]*\)".*/\1/p' "$TOP/pyproject.toml")
    "$VENV/bin/python" -c "import importlib.metadata as m, sys; sys.exit(m.version('torch').split('+')[0] != '${pin#*==}')" \
        2>/dev/null && return
    say "installing $pin (CPU build)"
    pip_install --no-deps --timeout 20 --retries 1 --index-url "$TORCH_CPU_INDEX" "$pin" 2>/dev/null \
        || { say "the CPU index was not reachable, taking $pin from the default index"; pip_install "$pin"; }
}

# ensure_venv EXTRAS...: .venv with the project (editable) and its extras. A stamp makes the second run instant.
ensure_venv() {
    local extras=$1 stamp want
    stamp=$VENV/.corstone-$extras
    want=$(cat "$TOP/pyproject.toml" "$TOP/scripts/lib/environment.sh" | sha256sum | cut -d' ' -f1)-$TOP
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && [ -x "$VENV/bin/python" ] && return
    ensure_python
    [ -x "$VENV/bin/python" ] || { say "making .venv with $PYTHON"; took venv "$PYTHON" -m venv "$VENV"; }
    took torch install_torch
    say "installing the project and its pinned wheels (about 2 GB on disk, some minutes the first time)"
    took "other wheels" pip_install -e "$TOP[$extras]"
    printf '%s' "$want" >"$stamp"
}

# environment EXTRAS [OPTIONS of corstone setup]: everything, then activate, and say what took the time.
environment() {
    ensure_venv "$1"
    took QEMU ensure_command qemu-system-arm "QEMU hosts the CPU of the emulated board" qemu-system-arm
    # shellcheck disable=SC1091
    . "$VENV/bin/activate"
    fetch_and_build "${@:2}"
    [ ${#PARTS[@]} -eq 0 ] || say "set-up: $(IFS=,; printf '%s' "${PARTS[*]}" | sed 's/,/, /g')"
}

# fetch_and_build OPTIONS...: what pip cannot express; the command says the seconds of its parts itself.
fetch_and_build() {
    local times
    times=$("$VENV/bin/corstone" setup --quiet --times "$@")
    [ -z "$times" ] || PARTS+=("$times")
}
