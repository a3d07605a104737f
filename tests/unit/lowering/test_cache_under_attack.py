"""The cache while processes are killed, write at once, prune at once, and the disk is full: whole entries or none."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from corstone.causes import Cause
from corstone.errors import ToolError
from corstone.lowering import prune as limits
from corstone.lowering.cache import Store
from corstone.lowering.keys import code_digest, program_key, source_key
from corstone.lowering.request import LowerRequest

# Dies by SIGKILL at the n-th call of a function of the operating system that changes the disk.
STEPS = """
import os, signal, sys
from pathlib import Path
from corstone.lowering import prune as limits
from corstone.lowering.cache import Store
root, what, last = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
left = last
def counted(event, args):
    global left
    changes = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.utime", "shutil.rmtree"}
    written = event == "open" and isinstance(args[1], str) and args[1][0] in "wxa"
    if event in changes or written:
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
store = Store(root, "programs")
sys.addaudithook(counted)
if what == "publish":
    built = store.aside() / "entry"
    built.mkdir()
    for n in range(3):
        (built / f"{n}.bin").write_bytes(bytes([n]) * 5000)
    store.publish("ab" * 32, built)
else:
    limits.prune(root, 0, idle_s=0)
print("done")
"""

WRITER = """
import sys
from pathlib import Path
from corstone.lowering import prune as limits
from corstone.lowering.cache import Store
root, seed = Path(sys.argv[1]), int(sys.argv[2])
store = Store(root, "programs")
for i in range(60):
    key = f"{(i * 7 + seed) % 5:064x}"
    if (folder := store.get(key)) is None:
        built = store.aside() / "entry"
        built.mkdir()
        for n in range(5):
            (built / f"{n}.bin").write_bytes(key.encode() * 50)
        store.publish(key, built)
    if i % 4 == seed:
        limits.prune(root, 8000, idle_s=0)
print("done")
"""


def put(root: Path, key: str) -> Path:
    store = Store(root, "programs")
    built = store.aside() / "entry"
    built.mkdir()
    for n in range(3):
        (built / f"{n}.bin").write_bytes(bytes([n]) * 5000)
    return store.publish(key, built)


def died(root: Path, what: str, step: int) -> bool:
    """Whether the process was killed at that step; else it came to its end."""
    done = subprocess.run(
        [sys.executable, "-c", STEPS, str(root), what, str(step)], stdout=subprocess.PIPE, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) in {(-signal.SIGKILL, b""), (0, b"done\n")}
    return done.returncode != 0


@pytest.mark.parametrize("what", ["publish", "prune"])
def test_kill_9_at_every_step_leaves_whole_entries_or_none(tmp_path: Path, what: str) -> None:
    step = 0
    while True:
        root = tmp_path / str(step)
        if what == "prune":
            put(root, "ab" * 32)
            put(root, "cd" * 32)
        killed = died(root, what, step)
        store = Store(root, "programs")
        for entry in limits.entries(root):
            assert store.damage(entry.folder, thorough=True) is None
        # And whoever comes next can work.
        folder = put(root, "ab" * 32)
        assert store.get("ab" * 32) == folder
        limits.prune(root, 0, idle_s=0)
        assert not list(limits.entries(root))
        if not killed:
            break
        step += 1
    assert step >= 5, "it was killed at several steps"


def test_writers_that_prune_at_once_see_whole_entries_only(tmp_path: Path) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(i)], stdout=subprocess.PIPE)
        for i in range(3)
    ]
    for process in running:
        assert process.communicate(timeout=120)[0] == b"done\n"
        assert process.returncode == 0
    for entry in limits.entries(tmp_path):
        assert entry.store.damage(entry.folder, thorough=True) is None


def test_a_prune_killed_at_random_times_spoils_nothing(tmp_path: Path) -> None:
    chance = random.Random(7)
    root = tmp_path / "lowering"
    command = [sys.executable, "-m", "corstone.cli", "cache", "prune", "--size", "0", "--idle", "0"]
    environment = os.environ | {"CORSTONE_CACHE": str(tmp_path)}
    for _ in range(4):
        for i in range(20):
            put(root, f"{i:064x}")
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.05, 0.4))
        process.kill()
        process.wait(30)
        assert not limits.damaged(root)
    put(root, "ab" * 32)
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True, timeout=60)
    assert not list(limits.entries(root))


def test_a_full_disk_is_said_and_leaves_no_entry(tmp_path: Path) -> None:
    store = Store(tmp_path, "programs")
    built = store.aside() / "entry"
    built.mkdir()
    (built / "program.pte").write_bytes(bytes(100))
    # A limit on files makes the system refuse a write where a full disk would.
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
        with pytest.raises(ToolError) as error:
            store.publish("ab" * 32, built)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, old)
    assert error.value.cause is Cause.DISK_FULL
    assert store.get("ab" * 32) is None
    assert not list(limits.entries(tmp_path))


def test_a_comment_keeps_the_programs_a_scale_a_flag_and_a_version_do_not(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import corstone.lowering.keys as keys

    package = tmp_path / "corstone"
    (package / "lowering").mkdir(parents=True)
    (package / "quantize").mkdir()
    source = package / "quantize" / "observers.py"
    monkeypatch.setattr(keys, "__file__", str(package / "lowering" / "keys.py"))
    ref = LowerRequest("acos").check()

    def now(text: str, flags: tuple[str, ...] = ()) -> tuple[str, str, str]:
        request = LowerRequest("acos", vela_flags=flags)
        source.write_text(text)
        keys._code_digest.cache_clear()
        os.utime(source, ns=(time.time_ns(), time.time_ns()))
        return code_digest(), source_key(request, ref), program_key("graph", request, ref)

    base = now('"""A module."""\nSCALE = 2 / 255\n')
    assert now('"""A module, described anew."""\n\n# A comment.\nSCALE = 2 / 255  # another\n') == base
    scale = now("SCALE = 2 / 256\n")
    assert all(a != b for a, b in zip(scale, base, strict=True))
    again = '"""A module."""\nSCALE = 2 / 255\n'
    flag = now(again, ("--optimise=Size",))
    assert flag[0] == base[0]
    assert flag[1] != base[1]
    assert flag[2] != base[2]
    versions = keys.tool_versions()
    monkeypatch.setattr(keys, "tool_versions", lambda: versions | {"vela": "9.9.9"})
    vela = now(again)
    assert vela[0] == base[0]
    assert vela[1] != base[1]
    assert vela[2] != base[2]
