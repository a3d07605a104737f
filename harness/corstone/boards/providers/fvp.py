"""Finds Arm's FVP: candidates from a given folder, CORSTONE_FVP_DIR and PATH, each probed with ``--version``.

The first whose banner is an FVP's is taken; our own shims have a banner of their own and are passed over. Where the
model ships its Python library (``<root>/python/lib``, needed by Corstone-320), the loader is told so. Sources: public
FVP banners (``Fast Models [11.27.42 (...)]``); mlia-ethos-u for LD_LIBRARY_PATH and PYTHONHOME.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from corstone.boards.providers.simulator import Simulator, Tried
from corstone.causes import Cause
from corstone.errors import ToolError
from corstone.paths import user_path

PROBE_S = 60.0
OUR_BANNER = "corstone-emulator"
_BANNER = re.compile(r"Fast Models \[(\d+\.\d+[.\d]*)")
_DEPTH = 5


@dataclass(frozen=True)
class Probe:
    """Answer of one candidate. ``kind``: ``fvp``, ``ours``, ``licence``, ``library`` or ``refused``."""

    kind: str
    answer: str
    version: str = ""


def is_installed(name: str, fvp_dir: Path | None = None) -> bool:
    """Whether an FVP of that name is there, be it willing or not; our shims do not count."""
    return any(probe(path).kind != "ours" for path in candidates(name, fvp_dir))


def find_fvp(name: str, fvp_dir: Path | None = None) -> Simulator:
    """The first candidate that is an FVP.

    Raises
    ------
    ToolError: none is; the evidence lists every candidate and its answer.
    """
    tried: list[Tried] = []
    kinds: list[str] = []
    for path in candidates(name, fvp_dir):
        answer = probe(path)
        tried.append(Tried(str(path), answer.answer))
        kinds.append(answer.kind)
        if answer.kind == "fvp":
            return Simulator(
                "fvp", (str(path),), name, answer.version, env=python_environment(path), tried=tuple(tried)
            )
    evidence = {f"tried {t.path}": t.answer for t in tried}
    fall_back = "or run on the emulator: --provider emulator"
    if "licence" in kinds:
        raise ToolError(
            f"{name} is installed and refuses its licence",
            cause=Cause.LICENCE,
            hint=f"activate the licence for this user, {fall_back}",
            evidence=evidence,
        )
    if set(kinds) - {"ours"}:
        raise ToolError(
            f"{name} is installed and does not run",
            cause=Cause.LAUNCH,
            hint=f"see the answers above; check the machine's architecture and libraries, {fall_back}",
            evidence=evidence,
        )
    raise ToolError(
        f"there is no {name}",
        cause=Cause.MISSING_TOOL,
        hint=f"install it (scripts/install_fvp), name its folder with --fvp-dir or CORSTONE_FVP_DIR, {fall_back}",
        evidence=evidence or {"searched": ", ".join(str(p) for p in _folders(fvp_dir))},
    )


def candidates(name: str, fvp_dir: Path | None = None) -> list[Path]:
    """Files of that name, in order of preference: the given folder, CORSTONE_FVP_DIR, then PATH."""
    found: list[Path] = []
    for folder, deep in _search(fvp_dir):
        for path in _below(folder, name, _DEPTH if deep else 0):
            if path not in found:
                found.append(path)
    return found


def _search(fvp_dir: Path | None) -> Iterator[tuple[Path, bool]]:
    given = os.environ.get("CORSTONE_FVP_DIR")
    for folder in (fvp_dir, Path(given) if given else None):
        if folder is not None:
            yield user_path(folder), True
    for entry in os.environ.get("PATH", "").split(os.pathsep):
        if entry:
            yield user_path(entry), False


def _folders(fvp_dir: Path | None) -> list[Path]:
    return [folder for folder, _ in _search(fvp_dir)]


def _below(folder: Path, name: str, depth: int) -> Iterator[Path]:
    path = folder / name
    if path.is_file():
        yield path
    if depth == 0:
        return
    try:
        children = sorted(
            p for p in folder.iterdir() if not p.name.startswith(".") and p.is_dir() and not p.is_symlink()
        )
    except OSError:
        return
    for child in children:
        yield from _below(child, name, depth - 1)


def python_environment(binary: Path) -> dict[str, str]:
    """LD_LIBRARY_PATH and PYTHONHOME for a model that ships its own Python; empty when it ships none."""
    for root in binary.resolve().parents[:_DEPTH]:
        library = root / "python" / "lib"
        if library.is_dir():
            inherited = os.environ.get("LD_LIBRARY_PATH")
            path = f"{library}{os.pathsep}{inherited}" if inherited else str(library)
            return {"LD_LIBRARY_PATH": path, "PYTHONHOME": str(root / "python")}
    return {}


def probe(path: Path) -> Probe:
    """Ask a candidate for its version; once per process and file state."""
    try:
        stat = path.stat()
    except OSError as error:
        return Probe("refused", str(error))
    return _probe(str(path), stat.st_mtime_ns, stat.st_size, os.environ.get("LD_LIBRARY_PATH", ""))


@lru_cache(maxsize=64)
def _probe(path: str, _mtime_ns: int, _size: int, _libraries: str) -> Probe:
    if not os.access(path, os.X_OK):
        return Probe("refused", "not executable")
    environment = dict(os.environ) | python_environment(Path(path))
    # Output to a file: a child that keeps a pipe open must not hold us beyond the deadline.
    with tempfile.TemporaryFile() as output:
        try:
            child = subprocess.Popen(
                [path, "--version"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            return Probe("refused", str(error))
        try:
            status: int | None = child.wait(PROBE_S)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _kill_group(child)
        output.seek(0)
        text = output.read(65536).decode("utf-8", "replace")
    return _judge(status, text)


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _judge(status: int | None, text: str) -> Probe:
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if OUR_BANNER in text:
        return Probe("ours", f"our emulator's shim: {first}")
    if status is None:
        return Probe("refused", f"no answer to --version in {PROBE_S:.0f} s")
    if re.search(r"licen[cs]e", text, re.IGNORECASE) and (status != 0 or "error" in text.lower()):
        return Probe("licence", f"status {status}: {first}")
    banner = _BANNER.search(text)
    if banner and status == 0:
        return Probe("fvp", banner[0] + "]", banner[1])
    if "error while loading shared libraries" in text:
        return Probe("library", f"status {status}: {first}")
    return Probe("refused", f"status {status}: {first or 'no output'}")
