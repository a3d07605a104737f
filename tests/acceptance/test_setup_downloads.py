"""What the set-up of one checkout has downloaded, that of the next does not download again: pip keeps it.

An index of our own stands for PyPI: it gives the same headers, and counts what is asked of it. Nothing here turns pip's
keeping off; where the index does not let wheels be kept, or pip is told not to, they are downloaded again.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ENVIRONMENT = Path(__file__).parents[2] / "scripts/lib/environment.sh"
WHEEL = "corstone_probe-1.0-py3-none-any.whl"
pytestmark = pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="this environment has no pip")


def wheel(folder: Path) -> bytes:
    info = "corstone_probe-1.0.dist-info"
    with zipfile.ZipFile(folder / WHEEL, "w") as archive:
        archive.writestr("corstone_probe.py", "answer = 42\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: corstone-probe\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", f"corstone_probe.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return (folder / WHEEL).read_bytes()


@contextmanager
def index(content: bytes, kept: str) -> Iterator[tuple[str, list[str]]]:
    """Its address, and the names of the files that it has given out; ``kept`` is the files' Cache-Control."""
    given: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = self.path == "/simple/corstone-probe/"
            body = f'<a href="/files/{WHEEL}">{WHEEL}</a>'.encode() if page else content
            if not page:
                given.append(self.path.rpartition("/")[2])
            self.send_response(200)
            self.send_header("Content-Type", "text/html" if page else "application/octet-stream")
            self.send_header("Cache-Control", "max-age=600, public" if page else kept)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/simple", given
        finally:
            server.shutdown()
            thread.join()


def set_up(checkout: Path, address: str, cache: Path, **environment: str) -> None:
    """What ``scripts/run`` does to install a wheel, into a folder of the checkout."""
    python = checkout / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHONDONT"))}
    pip = {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": address,
        "PIP_TRUSTED_HOST": "127.0.0.1",  # pip keeps nothing that came unasked by plain http
        "PIP_CACHE_DIR": str(cache),
        "PIP_TARGET": str(checkout / "installed"),
    }
    subprocess.run(
        ["bash", "-c", '. "$0"; VENV=$1; pip_install corstone-probe', str(ENVIRONMENT), str(checkout / ".venv")],
        env=clean | pip | environment,
        check=True,
        timeout=120,
    )
    assert (checkout / "installed/corstone_probe.py").read_text() == "answer = 42\n"


@pytest.mark.parametrize(
    ("kept", "downloads"),
    [("max-age=365000000, immutable, public", [1, 1, 2]), ("no-store", [1, 2, 3])],
    ids=["as PyPI", "an index that forbids it"],
)
def test_a_second_checkout_downloads_no_wheel_again(tmp_path: Path, kept: str, downloads: list[int]) -> None:
    with index(wheel(tmp_path), kept) as (address, given):
        counts = []
        for checkout, cache in (("one", "cache"), ("two", "cache"), ("elsewhere", "another")):
            set_up(tmp_path / checkout, address, tmp_path / cache)
            counts.append(given.count(WHEEL))
    assert counts == downloads


@pytest.mark.parametrize("told", ["", "1"], ids=["python keeps what it compiles", "python keeps nothing"])
def test_modules_are_compiled_when_they_are_imported_unless_that_is_not_kept(tmp_path: Path, told: str) -> None:
    with index(wheel(tmp_path), "no-store") as (address, _):
        set_up(tmp_path / "one", address, tmp_path / "cache", PYTHONDONTWRITEBYTECODE=told)
    assert len(list((tmp_path / "one").rglob("*.pyc"))) == (1 if told else 0)
