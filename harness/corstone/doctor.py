"""What is installed, what is missing, what to do: one row a thing, for people and as JSON.

Nothing heavy is imported: versions of Python packages come from their metadata. Leaves out fixing anything.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from corstone import __version__
from corstone.boards.providers.emulator import find_qemu, qemu_version
from corstone.boards.providers.fvp import candidates, probe
from corstone.boards.registry import boards
from corstone.boards.settings import version_key
from corstone.errors import HarnessError
from corstone.paths import cache_dir
from corstone.runners import RUNNERS, BuiltImage
from corstone.setup import image_path

OK, MISSING, OLD, OPTIONAL = "ok", "missing", "unproven", "optional"

# The known-good set; the first four decide bits and are exact, for the others a lower bound is enough.
_EXACT = {"torch": "2.13.0", "executorch": "1.5.1", "ethos-u-vela": "5.1.0", "tosa-tools": "2026.5.0"}
_AT_LEAST = {
    "numpy": "2.0",
    "flatbuffers": "24.3.25",
    "pexpect": "4.9",
    "junitparser": "4",
    "capstone": "5.0.1",
    "pyelftools": "0.31",
    "filelock": "3.13",
    "pytest": "8",
}
_MODULES = ("torch", "executorch.exir", "ethosu.vela.vela", "tosa_reference_model")
_IMPORT_S = 120
_QEMU_TESTED = ("7.2", "10.0")


@dataclass(frozen=True)
class Row:
    """One thing: ``status`` is ok, missing, unproven or optional (missing and not needed); ``hint`` says what to do."""

    name: str
    status: str
    found: str
    wanted: str = ""
    hint: str = ""


def examine(fvp_dir: Path | None = None) -> list[Row]:
    """Look at everything."""
    return [*_system(), *_packages(), _qemu(), *_runners(), _compiler(), *_fvps(fvp_dir), _vgf(), _cache()]


def healthy(rows: Iterable[Row]) -> bool:
    """Whether a run on the emulator is possible: nothing that is needed is missing."""
    return all(row.status != MISSING for row in rows)


def as_json(rows: Iterable[Row]) -> dict[str, object]:
    """Plain data: schema 1."""
    listed = list(rows)
    return {"schema": 1, "corstone": __version__, "healthy": healthy(listed), "rows": [asdict(row) for row in listed]}


def as_text(rows: Iterable[Row]) -> str:
    """A table, and what to do below it."""
    listed = list(rows)
    name_width = max(len(row.name) for row in listed)
    status_width = max(len(row.status) for row in listed)
    lines = []
    for row in listed:
        wanted = f" (wanted: {row.wanted})" if row.wanted and row.status != OK else ""
        lines.append(f"{row.name:<{name_width}}  {row.status:<{status_width}}  {row.found}{wanted}")
    hints = [f"  {row.name}: {row.hint}" for row in listed if row.hint and row.status != OK]
    if hints:
        lines += ["", "What to do:", *hints]
    return "\n".join(lines)


def _system() -> list[Row]:
    python = platform.python_version()
    fits = (3, 11) <= sys.version_info[:2] <= (3, 13)
    hint = "" if fits else "the ExecuTorch wheels exist for Python 3.11 to 3.13"
    return [
        Row("corstone-harness", OK, __version__),
        Row("system", OK, f"{platform.system()} {platform.machine()}, {_distribution()}"),
        Row("python", OK if fits else OLD, f"{python} at {sys.executable}", "3.11 to 3.13", hint),
    ]


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "unknown")
    except OSError:
        return "unknown"


def _packages() -> list[Row]:
    rows = []
    for name, wanted in (*_EXACT.items(), *_AT_LEAST.items()):
        exact = name in _EXACT
        what = wanted if exact else f">= {wanted}"
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            rows.append(
                Row(name, MISSING, "not installed", what, f"pip install '{name}{'==' if exact else '>='}{wanted}'")
            )
            continue
        # A local part such as +cpu is the same release.
        same = found.partition("+")[0] == wanted if exact else version_key(found) >= version_key(wanted)
        hint = "" if same else "other versions may give other bits" if exact else "an older version is not tested"
        rows.append(Row(name, OK if same else OLD, found, what, hint))
    return rows


def imports() -> list[Row]:
    """Import the compiler stack, each part in a child process: a package that is there may still not load."""
    rows = []
    for module in _MODULES:
        try:
            done = subprocess.run(
                [sys.executable, "-c", f"import {module}"],
                capture_output=True,
                text=True,
                timeout=_IMPORT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            rows.append(Row(f"import {module}", MISSING, f"did not end in {_IMPORT_S} s"))
            continue
        last = (done.stderr.strip().splitlines() or [""])[-1]
        if done.returncode == 0:
            rows.append(Row(f"import {module}", OK, "loads"))
        else:
            hint = "packages that pin different flatbuffers or numpy end like this: make a fresh environment"
            rows.append(Row(f"import {module}", MISSING, f"status {done.returncode}: {last}", "", hint))
    return rows


def _qemu() -> Row:
    wanted = " or ".join(_QEMU_TESTED)
    try:
        path = find_qemu()
        version = qemu_version(path)
    except HarnessError as error:
        return Row("qemu-system-arm", MISSING, error.message, wanted, error.hint)
    tested = any(version.startswith(prefix) for prefix in _QEMU_TESTED)
    return Row("qemu-system-arm", OK if tested else OLD, f"{version} at {path}", wanted, "" if tested else "not tested")


def _runners() -> list[Row]:
    rows = []
    for runner in RUNNERS:
        if isinstance(runner.image, BuiltImage):
            continue
        needed = "emulator" in runner.providers
        try:
            rows.append(Row(f"runner {runner.name}", OK, str(image_path(runner, fetch=False))))
        except HarnessError as error:
            rows.append(Row(f"runner {runner.name}", MISSING if needed else OPTIONAL, error.message, "", error.hint))
    return rows


def _compiler() -> Row:
    found = importlib.util.find_spec("ziglang") is not None
    gcc = shutil.which("arm-none-eabi-gcc")
    if found:
        return Row("firmware compiler", OK, f"ziglang {importlib.metadata.version('ziglang')}")
    if gcc:
        return Row("firmware compiler", OK, gcc)
    hint = "pip install 'corstone-harness[firmware]'; needed for Corstone-320, Ethos-U65 and scalar inputs"
    return Row("firmware compiler", OPTIONAL, "neither ziglang nor arm-none-eabi-gcc", "ziglang", hint)


def _fvps(fvp_dir: Path | None) -> list[Row]:
    rows = []
    for board in boards().values():
        for name in board.simulators.values():
            answers = [(path, probe(path)) for path in candidates(name, fvp_dir)]
            good = next(((path, answer) for path, answer in answers if answer.kind == "fvp"), None)
            if good is not None:
                rows.append(Row(name, OK, f"{good[1].version} at {good[0]}"))
                continue
            real = [(path, answer) for path, answer in answers if answer.kind != "ours"]
            tried = "; ".join(f"{path}: {answer.answer}" for path, answer in answers)
            hint = "optional: scripts/install_fvp, then --fvp-dir or CORSTONE_FVP_DIR; the emulator needs none"
            rows.append(Row(name, OLD if real else OPTIONAL, tried or "not found", "", hint))
    return rows


def _vgf() -> Row:
    hint = "optional: corstone setup --vgf"
    try:
        from corstone.vgf.tools import find_tools

        return Row("VGF tools", OK, str(find_tools().converter))
    except ImportError:
        return Row("VGF tools", OPTIONAL, "not part of this installation", "", hint)
    except HarnessError as error:
        return Row("VGF tools", OPTIONAL, error.message, "", error.hint or hint)


def _cache() -> Row:
    folder = cache_dir()
    nearest = next(p for p in (folder, *folder.parents) if p.exists())
    free = shutil.disk_usage(nearest).free
    enough = free > 1 << 30
    hint = "" if enough else "less than 1 GB is free there; CORSTONE_CACHE moves the cache"
    return Row("cache", OK if enough else OLD, f"{folder}, {free / 1e9:.1f} GB free", "", hint)
