"""The TOSA reference model's process, forked by the server of the boots or started: answer, crash and deadline."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.unit.conftest import Programs

from corstone.boards import warm
from corstone.causes import Cause
from corstone.errors import ToolError
from corstone.reference import table, tosa
from corstone.reference.graph import read_graph

CODES = np.arange(-128, 128).astype(np.int8)


@pytest.fixture(params=[True, False], ids=["forked", "new process"])
def warm_or_not(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    """Whether the server of the boots may fork the reference model's process."""
    monkeypatch.setenv(warm.ENVIRONMENT, "1" if request.param else "0")
    yield request.param
    warm.shut_down()


def _fake_model(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "site" / "tosa_reference_model"
    fake.mkdir(parents=True)
    (fake / "__init__.py").write_text(code)
    places = [str(tmp_path / "site"), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(places))
    monkeypatch.setenv("CORSTONE_CACHE", str(tmp_path / "cache"))
    if warm.server() is not None:
        assert warm.running() is not None


def test_the_reference_model_gives_the_same_answer_forked(
    programs: Programs, monkeypatch: pytest.MonkeyPatch, warm_or_not: bool
) -> None:
    path = programs("acos", 8, "fixed").tosa[0]
    server = warm.server()
    assert (server is not None) is warm_or_not
    before = 0 if server is None else server.started
    answer = tosa.run(path, [CODES], cache=False)[0]
    assert server is None or server.started == before + 1
    assert np.array_equal(answer, table.run(read_graph(path), [CODES]).outputs[0])


def test_the_reference_model_that_hangs_is_stopped(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warm_or_not: bool
) -> None:
    del warm_or_not
    begun = tmp_path / "begun"
    code = f"import os, time\nopen({str(begun)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    _fake_model(code, tmp_path, monkeypatch)
    with pytest.raises(ToolError, match="still running after 3 s"):
        tosa.run(programs("acos", 8, "fixed").tosa[0], [CODES], timeout_s=3.0)
    end = time.monotonic() + 5.0
    while Path(f"/proc/{begun.read_text()}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{begun.read_text()}").exists()


def test_the_reference_model_that_crashes_is_a_tool_error(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warm_or_not: bool
) -> None:
    del warm_or_not
    _fake_model("import os\nprint('assertion failed', flush=True)\nos.abort()\n", tmp_path, monkeypatch)
    with pytest.raises(ToolError, match="SIGABRT") as error:
        tosa.run(programs("acos", 8, "fixed").tosa[0], [CODES])
    assert error.value.cause is Cause.REFERENCE
    assert "assertion failed" in str(error.value)


def test_its_process_loads_no_other_reference() -> None:
    """The server of the boots imports it, on the warm path, too."""
    code = (
        "import sys, corstone.reference.tosa_child\n"
        "other = {'corstone.reference.answers', 'corstone.reference.plan', 'corstone.lowering'}\n"
        "print(sorted(other & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
