"""The compile server: one for a process, its children like new processes, and nothing left of them however they end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.fakes.processes import gone

from corstone.causes import Cause
from corstone.errors import ConfigError, HarnessError, StageError
from corstone.lowering import LowerRequest, lower_all, warm
from corstone.program import Program

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the server needs Linux")

NET = """
import os, signal, subprocess, sys, time
from pathlib import Path

COUNT = []

def says():
    COUNT.append(1)
    mask = os.umask(0)
    raise RuntimeError(f"{os.environ.get('SAID')} {os.getcwd()} {mask:o} {len(COUNT)} {os.getppid()} {os.getsid(0)}")

def crashes():
    os.kill(os.getpid(), signal.SIGSEGV)

def leaves():
    print("a last word", flush=True)
    os._exit(7)

def hangs():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(__file__).with_name("pids").write_text(f"{os.getpid()} {child.pid}")
    time.sleep(600)
"""


@pytest.fixture
def net(tmp_path: Path) -> str:
    (tmp_path / "net.py").write_text(NET)
    return str(tmp_path / "net.py")


@pytest.fixture(scope="module", autouse=True)
def _nothing_left() -> Iterator[None]:
    yield
    server = warm.running()
    warm.shut_down()
    assert server is None or gone(server.pid)


def of_session(session: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(stat.parent.name))
    return found


def answers(*requests: LowerRequest) -> list[Program | HarnessError]:
    return lower_all(list(requests))


def said(net: str) -> list[str]:
    (answer,) = answers(LowerRequest(f"{net}:says", shapes=((4,),)))
    assert isinstance(answer, ConfigError), answer
    return answer.message.rpartition("RuntimeError: ")[2].split()


def test_children_have_the_requests_surroundings_and_nothing_of_each_other(
    empty_cache: Path, net: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = warm.server()
    assert server is not None
    first = said(net)
    assert first[:2] == ["None", os.getcwd()]
    assert int(first[4]) == server.pid
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CORSTONE_SAID", "unseen")
    before = os.umask(0o027)
    try:
        second = said(net)
    finally:
        os.umask(before)
    # Another folder and umask need no other server; the module is imported anew.
    assert second[1:5] == [str(tmp_path), "27", "1", str(server.pid)]
    assert first[5] != second[5]
    assert not of_session(int(first[5]))
    assert not of_session(int(second[5]))


def test_a_crash_and_an_exit_cost_one_request_and_the_server_goes_on(empty_cache: Path, net: str) -> None:
    server = warm.server()
    assert server is not None
    eight = ((4,),)
    crash, left, fine = answers(
        LowerRequest(f"{net}:crashes", shapes=eight),
        LowerRequest(f"{net}:leaves", shapes=eight),
        LowerRequest("acos", shapes=eight),
    )
    assert isinstance(crash, StageError)
    assert crash.cause is Cause.COMPILE_CRASH
    assert "SIGSEGV in the stage 'source'" in crash.message
    assert "Segmentation fault" in str(crash.evidence["output"])
    assert isinstance(left, StageError)
    assert "exit status 7" in left.message
    assert "a last word" in str(left.evidence["output"])
    assert isinstance(fine, Program), fine
    assert warm.running() is server


def test_a_deadline_kills_a_forked_child_with_what_it_started(empty_cache: Path, net: str) -> None:
    server = warm.server()
    (late,) = answers(LowerRequest(f"{net}:hangs", shapes=((4,),), timeout_s=3))
    assert isinstance(late, StageError)
    assert late.cause is Cause.COMPILE_TIMEOUT
    pids = Path(net).with_name("pids").read_text().split()
    assert len(pids) == 2
    assert all(gone(int(pid)) for pid in pids)
    assert not of_session(int(pids[0]))
    assert warm.running() is server


def test_a_dead_server_is_replaced_and_another_environment_gets_another(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = warm.server()
    assert first is not None
    os.kill(first.pid, signal.SIGKILL)
    assert gone(first.pid)
    assert warm.running() is None
    second = warm.server()
    assert second is not None
    assert second is not first
    monkeypatch.setenv("CORSTONE_OUT", "harmless")
    assert warm.server() is second
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    assert warm.running() is None
    third = warm.server()
    assert third is not None
    assert third is not second
    assert gone(second.pid)
    monkeypatch.setenv("CORSTONE_WARM", "0")
    assert warm.server() is None
    assert warm.running() is None
    third.close()
    assert gone(third.pid)
