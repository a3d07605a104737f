"""Small projects for the nightly acceptance tests, and how pytest is started on them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_PLUGINS = ("xdist", "pytest_corstone.ledger_hooks")


def environment(**more: str) -> dict[str, str]:
    """An environment without a developer's settings; plugins are named one by one, which also starts faster."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "CORSTONE_", "COV_"))}
    return clean | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"} | more


def write_project(folder: Path, source: str) -> Path:
    """A folder with one test file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(textwrap.dedent(source))
    return folder


def command(*args: str, plugins: Sequence[str] = ()) -> list[str]:
    """Argv of a pytest run with the ledger's hooks."""
    named = [x for plugin in (*_PLUGINS, *plugins) for x in ("-p", plugin)]
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *named, *args]


def run_pytest(
    folder: Path, *args: str, plugins: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run to the end; at most a minute."""
    return subprocess.run(
        command(*args, plugins=plugins),
        cwd=folder,
        env=dict(env or environment()),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@contextmanager
def started(argv: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a group of its own; whatever is left of the group is killed at the end."""
    process = subprocess.Popen(
        argv,
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=30)
