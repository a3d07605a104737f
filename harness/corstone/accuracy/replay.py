"""Replays a bundle: boots its program on its inputs, judges by its references, and compares with what it says.

A bundle comes from somebody else: files are checked by their hashes, and an archive that names a path outside itself
is refused. Needs no torch.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corstone.accuracy.bundle import CAPTURE, SCHEMA
from corstone.boards import BootRequest, boot
from corstone.capture import Capture
from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.judge.stored import judge_folder
from corstone.judge.verdict import Verdict
from corstone.program import Program

_TAKEN_ALONG = ("judge.json", "references.json")
_LARGEST_BYTES = 2 << 30


@dataclass(frozen=True)
class Replay:
    """What a bundle said and what came now. ``outputs`` lists outputs whose bytes differ."""

    case: str
    said: str
    verdict: Verdict
    executor: str
    outputs: tuple[int, ...]

    @property
    def same(self) -> bool:
        """Whether the verdict, its cause and every output byte are the same."""
        return self.now == self.said and not self.outputs

    @property
    def now(self) -> str:
        """Outcome and cause, as ``said`` has them."""
        return f"{self.verdict.outcome} ({self.verdict.cause})"


def replay(bundle: Path, into: Path | None = None, **device: Any) -> Replay:
    """Boot a bundle (the zip, or the folder it was unpacked to) again.

    Parameters
    ----------
    into: folder of the new capture; None: nothing is kept.
    device: ``provider``, ``board``, ``runner``, ... as ``BootRequest`` has them.

    Raises
    ------
    ConfigError: no bundle, or one that was changed.
    ToolError: a simulator or an image is missing.
    """
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(_opened(bundle))
        about = _checked(folder)
        capture = folder / CAPTURE
        program = Program.load(capture / "program.json")
        old = Capture.load(capture)
        fresh = into or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="corstone-replay-")))
        new = boot(BootRequest(program=program, inputs=old.input_bytes(), folder=fresh, **device))
        for path in [*(capture / name for name in _TAKEN_ALONG), *capture.glob("ref-*.npy")]:
            if path.is_file():
                shutil.copyfile(path, fresh / path.name)
        verdict = judge_folder(fresh)[3]
        differing = tuple(
            i for i, (a, b) in enumerate(zip(old.output_bytes(), new.output_bytes(), strict=False)) if a != b
        )
        said = f"{about['verdict']} ({about['cause']})"
        return Replay(about["case"], said, verdict, str(new.executor), differing)


@contextlib.contextmanager
def _opened(bundle: Path) -> Iterator[Path]:
    if bundle.is_dir():
        yield bundle
        return
    with tempfile.TemporaryDirectory(prefix="corstone-bundle-") as folder:
        try:
            with zipfile.ZipFile(bundle) as archive:
                entries = archive.infolist()
                root = Path(folder).resolve()
                if any(not (root / e.filename).resolve().is_relative_to(root) for e in entries):
                    raise ConfigError(f"{bundle} names a file outside itself", cause=Cause.BAD_INPUT)
                if sum(e.file_size for e in entries) > _LARGEST_BYTES:
                    raise ConfigError(f"{bundle} unpacks to more than 2 GiB", cause=Cause.BAD_INPUT)
                archive.extractall(folder)
        except (OSError, zipfile.BadZipFile) as error:
            raise ConfigError(f"{bundle} is no bundle: {error}", cause=Cause.BAD_INPUT) from error
        yield Path(folder)


def _checked(folder: Path) -> dict[str, Any]:
    """``bundle.json``, when every file is as it says."""
    try:
        about: dict[str, Any] = json.loads((folder / "bundle.json").read_text())
        schema, files = int(about["schema"]), dict(about["files"])
        for name in ("case", "verdict", "cause"):
            about[name] = str(about[name])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{folder} holds no bundle.json that can be read: {error}",
            cause=Cause.BAD_INPUT,
            hint="give the zip that `corstone bundle` wrote, or the folder it was unpacked to",
        ) from error
    if schema > SCHEMA:
        raise ConfigError(f"the bundle has schema {schema}, this version reads up to {SCHEMA}", cause=Cause.BAD_INPUT)
    changed = [name for name, sha256 in files.items() if _sha256(folder / name) != sha256]
    if changed:
        raise ConfigError(
            f"the bundle was changed: {', '.join(changed[:5])}", cause=Cause.BAD_INPUT, hint="ask for it again"
        )
    return about


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
