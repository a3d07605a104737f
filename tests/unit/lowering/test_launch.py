"""Ends of a compile child: each is told by name, costs one request, and leaves no process. Scripts play the child."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.fakes.processes import below, gone

from corstone.causes import Cause
from corstone.errors import ConfigError, StageError
from corstone.lowering import LowerRequest, lower
from corstone.lowering.launch import Answer, Job, run_jobs

# Answers requests as their data says; what is unknown is answered with itself.
CHILD = """
import json, os, signal, subprocess, sys, time
from pathlib import Path
folder = Path(sys.argv[1])
requests = json.loads((folder / "requests.json").read_text())["requests"]
for i, data in enumerate(requests):
    (folder / "progress.tmp").write_text(json.dumps({"index": i, "stage": data.get("stage", "tosa")}))
    (folder / "progress.tmp").rename(folder / "progress.json")
    print("working on", i, flush=True)
    do = data["do"]
    if do == "hang":
        grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path(data["pid"]).write_text(f"{os.getpid()} {grandchild.pid}")
        time.sleep(600)
    if do.startswith("SIG"):
        os.kill(os.getpid(), getattr(signal, do))
    if do == "exit":
        sys.exit(7)
    error = {"type": "config", "message": "bad source", "cause": "bad-input", "hint": "h", "evidence": {"a": "b"}}
    result = {"error": error} if do == "refuse" else {"done": do}
    (folder / f"result-{i}.tmp").write_text(json.dumps(result))
    (folder / f"result-{i}.tmp").rename(folder / f"result-{i}.json")
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "child.py"
    path.write_text(CHILD)
    return path


def run(script: Path, tmp_path: Path, *wishes: dict[str, str], timeout_s: float = 60) -> list[Answer]:
    work = tmp_path / "work"
    work.mkdir()
    return run_jobs([Job(w, {}, timeout_s) for w in wishes], work, (sys.executable, str(script)))


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL"])
def test_a_crash_names_signal_and_stage_and_the_next_request_goes_on(script: Path, tmp_path: Path, name: str) -> None:
    before, crash, after = run(script, tmp_path, {"do": "one"}, {"do": name, "stage": "vela"}, {"do": "two"})
    assert before == {"done": "one"}
    assert after == {"done": "two"}
    assert isinstance(crash, StageError)
    assert crash.cause is Cause.COMPILE_CRASH
    assert name in crash.message
    assert "'vela'" in crash.message
    assert "working on 1" in str(crash)


def test_a_deadline_stops_the_child_and_what_it_started(script: Path, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    late, after = run(
        script, tmp_path, {"do": "hang", "stage": "quantize", "pid": str(pids)}, {"do": "two"}, timeout_s=2
    )
    assert isinstance(late, StageError)
    assert late.cause is Cause.COMPILE_TIMEOUT
    assert "'quantize'" in late.message
    assert after == {"done": "two"}
    for pid in pids.read_text().split():
        assert gone(int(pid))


def test_leaving_without_a_result_is_an_error_with_the_status(script: Path, tmp_path: Path) -> None:
    (ended,) = run(script, tmp_path, {"do": "exit"})
    assert isinstance(ended, StageError)
    assert ended.cause is Cause.COMPILE
    assert "exit status 7" in ended.message


def test_a_child_that_never_begins_is_told_from_one_that_works(tmp_path: Path) -> None:
    (ended,) = run(tmp_path / "there-is-no-script.py", tmp_path, {"do": "one"})
    assert isinstance(ended, StageError)
    assert "'start'" in ended.message
    assert "No such file" in str(ended)


def test_errors_of_the_child_keep_kind_cause_hint_and_evidence(script: Path, tmp_path: Path) -> None:
    (refused,) = run(script, tmp_path, {"do": "refuse"})
    assert isinstance(refused, ConfigError)
    assert (refused.message, refused.cause, refused.hint) == ("bad source", Cause.BAD_INPUT, "h")
    assert refused.evidence == {"a": "b"}


@pytest.mark.parametrize("warm", ["0", "1"])
def test_nothing_is_left_of_a_killed_parent(empty_cache: Path, warm: str) -> None:
    script = "from corstone.lowering import LowerRequest, lower\nlower(LowerRequest('acos'))\n"
    parent = subprocess.Popen([sys.executable, "-c", script], env=os.environ | {"CORSTONE_WARM": warm})
    try:
        begun(empty_cache)
        children = below(parent.pid)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait(timeout=30)
    assert len(children) == 1 + int(warm)
    assert all(map(gone, children))


def begun(cache: Path) -> None:
    """Wait until a compile child has begun its first request."""
    for _ in range(1200):
        if list(cache.glob("lowering/tmp/*/child-*/progress.json")):
            return
        time.sleep(0.05)
    raise AssertionError("the compile child was not seen")


def test_a_segfault_in_vela_is_a_compile_crash_of_that_stage(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "site" / "ethosu" / "vela"
    fake.mkdir(parents=True)
    (fake.parent / "__init__.py").touch()
    (fake / "__init__.py").touch()
    (fake / "vela.py").write_text("import os, signal\ndef main(args):\n    os.kill(os.getpid(), signal.SIGSEGV)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    with pytest.raises(StageError) as error:
        lower(LowerRequest("acos", shapes=((4,),)))
    assert error.value.cause is Cause.COMPILE_CRASH
    assert "SIGSEGV" in error.value.message
    assert "'vela'" in error.value.message
    assert not list((empty_cache / "lowering").glob("programs/*/*"))
