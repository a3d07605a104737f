"""Downloads and installs one of Arm's FVPs, for a user who has agreed to Arm's licence.

The licence is never accepted for anybody: without the environment variable that states the agreement nothing is
fetched. The download resumes after an abort, its hash is checked before anything in it is run, and an error page served
with status 200 is recognised. The installer's options are those other public projects use.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

from corstone.boards.fvp_packages import BASE_URL, PACKAGES, Package, package
from corstone.boards.providers.fvp import candidates, probe
from corstone.boards.registry import board as board_named
from corstone.causes import Cause
from corstone.errors import ConfigError, HarnessError, ToolError
from corstone.paths import cache_dir, user_path

AGREEMENT = "ARM_FVP_INSTALL_I_AGREE_TO_THE_CONTAINED_EULA"
_ATTEMPTS = 5
_TIMEOUT_S = 60
_INSTALL_S = 900
_CHUNK = 1 << 16

Say = Callable[[str], None]


def require_agreement() -> None:
    """Stop unless the user has stated the agreement.

    Raises
    ------
    ConfigError: the environment variable is not set (cause ``licence``).
    """
    if os.environ.get(AGREEMENT, "").lower() not in {"1", "true", "yes"}:
        raise ConfigError(
            "Arm's licence for the FVPs has to be accepted by you; nothing was downloaded",
            cause=Cause.LICENCE,
            hint=f"read the licence on developer.arm.com; if you agree, set {AGREEMENT}=True and run this again",
        )


def download(wanted: Package, folder: Path, base_url: str = BASE_URL, say: Say = print, pause_s: float = 2.0) -> Path:
    """The archive in ``folder``, its hash checked; resumes what is there.

    Raises
    ------
    ToolError: it cannot be had whole (cause ``download``).
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / wanted.file_name
    if path.is_file() and _digest(path, wanted.algorithm) == wanted.digest:
        say(f"{path} is there already and has the right {wanted.algorithm}")
        return path
    url = urllib.parse.urljoin(base_url, wanted.path)
    part = path.with_name(path.name + ".part")
    reason = ""
    for attempt in range(_ATTEMPTS):
        if attempt:
            say(f"{reason}; trying again")
            time.sleep(pause_s * attempt)
        try:
            reason = _fetch(url, part)
        except urllib.error.HTTPError as error:
            reason = f"{url} answered {error.code} {error.reason}"
            if error.code == 416:  # what we have is as long as the file, and not it
                part.unlink(missing_ok=True)
            elif error.code < 500:
                break
            continue
        except (OSError, urllib.error.URLError) as error:
            reason = f"{url}: {error}"
            continue
        if reason:
            continue
        found = _digest(part, wanted.algorithm)
        if found == wanted.digest:
            part.replace(path)
            return path
        page = _is_page(part)
        size = part.stat().st_size
        part.unlink()
        reason = (
            f"{url} served a web page of {size} bytes instead of the archive"
            if page
            else f"{url} has {wanted.algorithm} {found}, expected {wanted.digest}"
        )
        if not page:
            break
    raise ToolError(
        f"the FVP cannot be downloaded: {reason}",
        cause=Cause.DOWNLOAD,
        hint=f"fetch {wanted.file_name} with a browser and put it into {folder}",
    )


def _fetch(url: str, part: Path) -> str:
    """Append to ``part`` what is missing; returns what went wrong, empty when the server sent all it announced."""
    have = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
        resumed = answer.status == 206
        announced = answer.headers.get("Content-Length")
        with part.open("ab" if resumed else "wb") as sink:
            got = 0
            while data := answer.read(_CHUNK):
                sink.write(data)
                got += len(data)
    if announced is not None and got < int(announced):
        return f"the connection ended after {got} of {announced} bytes"
    return ""


def _is_page(path: Path) -> bool:
    with path.open("rb") as stream:
        start = stream.read(512).lstrip().lower()
    return start.startswith((b"<!doctype", b"<html", b"<?xml"))


def _digest(path: Path, algorithm: str) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()


def install(archive: Path, wanted: Package, destination: Path, say: Say = print) -> Path:
    """Unpack, run the installer where there is one, and return the folder that the FVPs are below.

    Raises
    ------
    ToolError: damaged archive, failing installer, or no FVP in what it installed.
    """
    require_agreement()
    destination.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fvp-", dir=destination) as scratch:
        unpacked = Path(scratch)
        try:
            with tarfile.open(archive) as tar:
                _unpack(tar, unpacked)
        except (tarfile.TarError, OSError, EOFError) as error:
            raise ToolError(f"{archive} cannot be unpacked: {error}", cause=Cause.DOWNLOAD) from error
        installers = sorted(unpacked.glob("*.sh"))
        if installers:
            _run_installer(installers[0], destination)
        else:
            for child in unpacked.iterdir():
                child.rename(destination / child.name)
    names = board_named(wanted.board).simulators.values()
    found = [path for name in names for path in candidates(name, destination) if path.is_relative_to(destination)]
    if not found:
        raise ToolError(
            f"nothing called {' or '.join(names)} is below {destination} after the installation", cause=Cause.LAUNCH
        )
    for path in found:
        say(f"{path}: {probe(path).answer}")
    return destination


def _unpack(tar: tarfile.TarFile, folder: Path) -> None:
    """Extract without writing outside the folder; Python before 3.11.4 has no filter for that."""
    if hasattr(tarfile, "data_filter"):
        tar.extractall(folder, filter="data")
        return
    for member in tar.getmembers():
        inside = (folder / member.name).resolve().is_relative_to(folder.resolve())
        if not inside or not (member.isreg() or member.isdir()):
            raise tarfile.TarError(f"{member.name} is no plain file inside the archive's folder")
    tar.extractall(folder)


def _run_installer(installer: Path, destination: Path) -> None:
    command = ["/bin/sh", str(installer), "--i-agree-to-the-contained-eula", "--force"]
    command += ["--destination", str(destination), "--quiet", "--no-interactive"]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_INSTALL_S,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"{installer.name} did not end in {_INSTALL_S} s", cause=Cause.LAUNCH) from error
    if done.returncode:
        text = (done.stdout + done.stderr).strip()[-1000:]
        raise ToolError(f"{installer.name} ended with status {done.returncode}: {text}", cause=Cause.LAUNCH)


def main(argv: list[str] | None = None) -> int:
    """Entry point of ``scripts/install_fvp``."""
    parser = argparse.ArgumentParser(prog="install_fvp", description="Download and install Arm's FVP of a board.")
    parser.add_argument("board", choices=sorted({row.board for row in PACKAGES}))
    parser.add_argument("--version", default="", help="for example 11.27_42 (default: the newest known)")
    parser.add_argument("--dest", type=Path, help="where to install (default: in the cache)")
    parser.add_argument("--base-url", default=BASE_URL, help="a mirror of Arm's download folder")
    arguments = parser.parse_args(argv)
    try:
        require_agreement()
        wanted = package(arguments.board, arguments.version)
        archive = download(wanted, cache_dir() / "fvp", arguments.base_url)
        destination = arguments.dest or cache_dir() / "fvp" / f"{wanted.board}-{wanted.version}"
        folder = install(archive, wanted, user_path(destination).resolve())
    except HarnessError as error:
        print(f"install_fvp: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("install_fvp: interrupted; run it again to resume", file=sys.stderr)
        return 130
    print(f"\nexport CORSTONE_FVP_DIR='{folder}'")
    return 0


if __name__ == "__main__":
    sys.exit(main())
