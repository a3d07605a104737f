"""A boot as process 1 of a container: no network, no terminal, no home, next to no /dev/shm, nobody else's processes.

Made with ``unshare`` alone, so that no container engine is needed; docs/boards.md says what was run in a real one.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from corstone.errors import HarnessError
from corstone.paths import cache_dir
from corstone.runners import runner as runner_named
from corstone.setup import image_path

PROGRAM = Path(__file__).parents[1] / "data" / "acos-int8-u55-128.pte"
# pivot_root is left out: the file system is the host's, apart from /dev/shm and /proc.
SPACES = [
    "unshare",
    "--user",
    "--map-root-user",
    "--mount",
    "--pid",
    "--fork",
    "--kill-child",
    "--net",
    "--ipc",
    "--uts",
]
MOUNTS = "mount -t tmpfs -o size=64k none /dev/shm && mount -t proc none /proc"


def inside(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"HOME": "/nonexistent", "CORSTONE_CACHE": str(cache_dir())}
    for name in ("DISPLAY", "TERM", "XDG_RUNTIME_DIR"):
        environment.pop(name, None)
    return subprocess.run(
        [*SPACES, "sh", "-c", f"{MOUNTS} && exec {command}"],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        start_new_session=True,
        check=False,
    )


@pytest.mark.parametrize("runner", ["corstone-300", "arm-executorch-u55"])
def test_a_boot_as_process_1(runner: str, tmp_path: Path) -> None:
    if shutil.which("unshare") is None or (tried := inside("true", tmp_path)).returncode != 0:
        pytest.skip(f"no namespaces for this user: {tried.stderr.strip() if shutil.which('unshare') else 'no unshare'}")
    try:
        image_path(runner_named(runner))  # while there is a network and a compiler's folder
    except HarnessError as error:
        pytest.skip(f"no image: {error.message}")
    given = np.linspace(-0.9, 0.9, 256, dtype=np.float32)
    (tmp_path / "in.bin").write_bytes(given.tobytes())
    command = [sys.executable, "-m", "corstone.cli", "run", str(PROGRAM), "-i", "in.bin", "-o", "out"]
    done = inside(shlex.join([*command, "--provider", "emulator", "--runner", runner]), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASSED: ethos-u55-128 on corstone-300" in done.stdout
    got = np.frombuffer((tmp_path / "out" / "out-0.bin").read_bytes(), np.float32)
    assert np.abs(got - np.arccos(given)).max() < 0.05
