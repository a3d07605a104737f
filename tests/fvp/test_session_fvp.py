"""The fvp provider: which candidate is taken, what is said when none is, and boots through the whole session."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.endings.case import BANNER, COMPLETED, DUMP, ET_END, ET_RUN, ET_START, MLEK, OUT0, PATIENT, says
from tests.fakes.fakes import U55, U85, dummy_runner, install_fake, small_program

from corstone.boards import BootRequest, Deadlines, boot
from corstone.boards.providers import find_simulator
from corstone.boards.providers.fvp import candidates
from corstone.boards.registry import board
from corstone.capture import Capture
from corstone.causes import Cause, Outcome
from corstone.errors import ConfigError, ToolError

C300 = board("corstone-300")
GOOD: dict[str, Any] = {"steps": [BANNER, DUMP, says(MLEK)]}
PARROT: dict[str, Any] = {"steps": [["show", None], says(ET_START + ET_RUN + ET_END), OUT0, ["exit", 0]]}


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No FVP but those of the test; the shell and QEMU stay in reach."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name in ("CORSTONE_FVP_DIR", "LD_LIBRARY_PATH"):
        monkeypatch.delenv(name, raising=False)


def say(text: str, status: int) -> dict[str, Any]:
    return {"probe": [["error", text], ["exit", status]], "steps": []}


def on_path(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join([*map(str, folders), "/usr/bin", "/bin"]))


def fvp(folder: Path | None = None, **more: Any) -> Any:
    return find_simulator(C300, "U55", "fvp", folder, **more)


def test_none_is_found(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=U55) as refused:
        fvp()
    assert refused.value.cause is Cause.MISSING_TOOL
    assert refused.value.exit_code == 3
    assert "--provider emulator" in refused.value.hint
    assert "CORSTONE_FVP_DIR" in refused.value.hint


def test_the_first_that_answers_is_taken_and_all_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_fake(tmp_path / "bad", say("cannot execute binary file\n", 126))
    install_fake(tmp_path / "silent", {"version": "", "steps": []})
    good = install_fake(tmp_path / "good", GOOD)
    install_fake(tmp_path / "later", GOOD)
    on_path(monkeypatch, tmp_path / "bad", tmp_path / "silent", tmp_path / "good", tmp_path / "later")
    found = fvp()
    assert found.argv == (str(good),)
    assert (found.kind, found.name, found.version) == ("fvp", U55, "11.27.42")
    answers = [t.answer for t in found.tried]
    assert "status 126" in answers[0]
    assert "no output" in answers[1]
    assert answers[2] == "Fast Models [11.27.42]"
    assert len(answers) == 3


def test_a_given_folder_comes_before_the_variable_and_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("given", "variable", "path"):
        install_fake(tmp_path / name / "models" / "Linux64_GCC-9.3", GOOD)
    on_path(monkeypatch, tmp_path / "path" / "models" / "Linux64_GCC-9.3")
    monkeypatch.setenv("CORSTONE_FVP_DIR", str(tmp_path / "variable"))
    assert "/given/" in fvp(tmp_path / "given").argv[0]
    assert "/variable/" in fvp().argv[0]
    monkeypatch.delenv("CORSTONE_FVP_DIR")
    assert "/path/" in fvp().argv[0]


def test_home_and_blanks_in_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    install_fake(tmp_path / "my FVPs (Arm's)", GOOD)
    assert fvp(Path("~/my FVPs (Arm's)")).version == "11.27.42"
    monkeypatch.setenv("CORSTONE_FVP_DIR", "~/my FVPs (Arm's)")
    assert fvp().version == "11.27.42"


def test_our_shims_are_never_taken_for_an_fvp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    banner = "corstone-emulator 0.1.0, not an Arm product (Fast Models [11.27.42] command line)\n"
    install_fake(tmp_path / "shims", {"version": banner, "steps": []})
    on_path(monkeypatch, tmp_path / "shims")
    with pytest.raises(ToolError) as refused:
        fvp()
    assert refused.value.cause is Cause.MISSING_TOOL
    assert any("our emulator's shim" in str(v) for v in refused.value.evidence.values())
    assert find_simulator(C300, "U55", "auto").kind == "emulator"
    with pytest.raises(ToolError):
        find_simulator(C300, "U55", "auto", require_fvp=True)


@pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="qemu-system-arm is not installed")
def test_auto_takes_the_emulator_only_where_no_fvp_is(tmp_path: Path) -> None:
    assert find_simulator(C300, "U55", "auto").kind == "emulator"
    install_fake(tmp_path / "fvp", GOOD)
    assert find_simulator(C300, "U55", "auto", tmp_path / "fvp").kind == "fvp"
    assert find_simulator(C300, "U55", "emulator", tmp_path / "fvp").kind == "emulator"


@pytest.mark.parametrize(
    ("scenario", "cause"),
    [
        (say("Fatal: license error: The license found is assigned to another user.\n", 1), Cause.LICENCE),
        (say("FVP: error while loading shared libraries: libpython3.9.so.1.0: cannot open\n", 127), Cause.LAUNCH),
        (say("cannot execute binary file\n", 126), Cause.LAUNCH),
        (say("docker: command not found\n", 127), Cause.LAUNCH),
        ({"version": "", "steps": []}, Cause.LAUNCH),
        ({"version": "Some other program 1.0\n", "steps": []}, Cause.LAUNCH),
    ],
    ids=["licence", "library", "architecture", "docker", "silent", "other-program"],
)
@pytest.mark.parametrize("provider", ["auto", "fvp"])
def test_one_that_refuses_is_an_error_and_no_fall_back(
    tmp_path: Path, provider: str, scenario: dict[str, Any], cause: Cause
) -> None:
    install_fake(tmp_path / "fvp", scenario)
    with pytest.raises(ToolError) as refused:
        find_simulator(C300, "U55", provider, tmp_path / "fvp")
    assert refused.value.cause is cause
    assert "--provider emulator" in refused.value.hint
    assert "tried" in str(refused.value)


def test_its_own_python_library_is_found(tmp_path: Path) -> None:
    root = tmp_path / "FVP_Corstone_SSE-320"
    (root / "python" / "lib").mkdir(parents=True)
    need = [["need_library", {"folder": str(root / "python" / "lib")}]]
    install_fake(root / "models" / "Linux64_GCC-9.3", {"probe": need, "steps": [*need, *GOOD["steps"]]}, U85)
    found = find_simulator(board("corstone-320"), "U85", "fvp", tmp_path)
    assert found.env["LD_LIBRARY_PATH"] == str(root / "python" / "lib")
    assert found.env["PYTHONHOME"] == str(root / "python")


def test_bad_words_list_the_good_ones() -> None:
    with pytest.raises(ConfigError, match="hardware") as refused:
        find_simulator(C300, "U55", "hardware")
    assert "auto, fvp, emulator" in refused.value.hint
    with pytest.raises(ConfigError, match="required"):
        find_simulator(C300, "U55", "emulator", require_fvp=True)


def test_a_deep_folder_is_searched_and_links_are_not_followed(tmp_path: Path) -> None:
    path = install_fake(tmp_path / "a" / "b" / "c", GOOD)
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    assert candidates(U55, tmp_path) == [path]


Request = Callable[..., BootRequest]


@pytest.fixture
def request_for(tmp_path: Path) -> Request:
    def make(scenario: dict[str, Any], *, runner: str | None = None, folder: str = "out", **more: Any) -> BootRequest:
        install_fake(tmp_path / folder / "fvp", scenario)
        sizes = more.pop("inputs", (16,))
        (tmp_path / folder).mkdir(exist_ok=True)
        dummy_runner(tmp_path / folder, "semihosting")
        return BootRequest(
            program=small_program(tmp_path / folder / "program", sizes),
            inputs=tuple(bytes(n) for n in sizes),
            folder=tmp_path / folder / "capture",
            provider="fvp",
            fvp_dir=tmp_path / folder / "fvp",
            runner=runner,
            runner_elf=tmp_path / folder / "runner.elf",
            deadlines=PATIENT,
            preflight=False,
            **more,
        )

    return make


def shown(capture: Capture) -> dict[str, Any]:
    line = next(line for line in capture.console.splitlines() if line.startswith(b'{"arguments"'))
    found: dict[str, Any] = json.loads(line)
    return found


def test_an_old_fvp_gets_its_own_parameter_names(request_for: Request) -> None:
    old = {"version": "Fast Models [11.12.57 (Nov 25 2020)]\n"}
    capture = boot(request_for({**old, "steps": [["reject", {"name": "ethosu.num_macs"}], *PARROT["steps"]]}))
    assert capture.ending.outcome is Outcome.PASSED
    assert "ethosu.config=H128" in capture.command
    assert str(capture.executor) == f"{U55} 11.12.57"


def test_terminals_are_off_and_nothing_names_a_port(request_for: Request) -> None:
    arguments = shown(boot(request_for(PARROT)))["arguments"]
    for terminal in (0, 1, 2, 5):
        assert f"mps3_board.telnetterminal{terminal}.start_telnet=0" in arguments
    assert not any("port" in word for word in arguments)
    assert arguments[arguments.index("--timelimit") + 1].isdigit()


def test_semihosting_runs_in_a_fresh_folder_of_its_own(request_for: Request, tmp_path: Path) -> None:
    first, second = (boot(request_for(PARROT, folder=name)) for name in ("one", "two"))
    folders = {shown(capture)["cwd"] for capture in (first, second)}
    assert len(folders) == 2
    assert not any(Path(folder).exists() for folder in folders)
    assert shown(first)["line"] == ["executor_runner", "-m", "program.pte", "-o", "out", "-i", "i0.bin"]


def test_a_temporary_folder_with_blanks_and_quotes(
    request_for: Request, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / 'it\'s "odd" here'
    odd.mkdir()
    monkeypatch.setenv("TMPDIR", str(odd))
    monkeypatch.setattr("tempfile.tempdir", None)
    capture = boot(request_for(PARROT))
    assert capture.ending.outcome is Outcome.PASSED
    assert shown(capture)["cwd"].startswith(str(odd))


def test_an_earlier_result_in_the_folder_is_not_read_as_new(request_for: Request) -> None:
    request = request_for({"steps": [says(ET_START + ET_RUN + ET_END), ["exit", 0]]})
    request.folder.mkdir(parents=True)
    (request.folder / "out-0.bin").write_bytes(bytes(16))
    (request.folder / "keep.txt").write_text("the user's own")
    capture = boot(request)
    assert (capture.ending.outcome, capture.ending.cause) == (Outcome.NO_OUTPUT, Cause.OUTPUT_MISSING)
    assert capture.outputs == ()
    assert not (request.folder / "out-0.bin").exists()
    assert (request.folder / "keep.txt").exists()


def test_eight_boots_at_once_keep_their_outputs_apart(request_for: Request) -> None:
    def prepared(value: int) -> BootRequest:
        steps = [
            BANNER,
            says(ET_START + f"I am {value}\n" + ET_RUN + ET_END),
            ["write", {"name": "out-0.bin", "size": 16, "value": value}],
            ["exit", 0],
        ]
        return request_for({"steps": steps}, folder=f"boot{value}")

    # Written before anything is started: a file still open for writing in a forked child cannot be executed.
    requests = [prepared(value) for value in range(8)]
    with ThreadPoolExecutor(8) as pool:
        captures = list(pool.map(boot, requests))
    for value, capture in enumerate(captures):
        assert capture.ending.outcome is Outcome.PASSED, capture.ending
        assert capture.output_bytes() == (bytes([value]) * 16,)
        assert f"I am {value}".encode() in capture.console
        assert capture.console.count(b"I am ") == 1


@pytest.mark.parametrize(("given", "expected"), [((), 1), ((16, 16), 1)])
def test_the_number_of_inputs_must_be_right(request_for: Request, given: tuple[int, ...], expected: int) -> None:
    request = request_for(PARROT)
    with pytest.raises(ConfigError, match=f"has {expected} inputs, {len(given)} were given") as refused:
        boot(BootRequest(**{**vars(request), "inputs": tuple(bytes(n) for n in given)}))
    assert refused.value.cause is Cause.BAD_INPUT
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("size", [0, 15, 17])
def test_an_input_of_another_size_is_refused(request_for: Request, size: int) -> None:
    request = request_for(PARROT)
    with pytest.raises(ConfigError, match=f"has {size} bytes, expected 16 for int8"):
        boot(BootRequest(**{**vars(request), "inputs": (bytes(size),)}))


def test_a_runner_of_another_board_or_provider_is_refused(request_for: Request) -> None:
    request = vars(request_for(PARROT)) | {"runner_elf": None}
    with pytest.raises(ConfigError, match="is for corstone-320"):
        boot(BootRequest(**{**request, "runner": "corstone-320"}))
    with pytest.raises(ConfigError, match="there is no runner"):
        boot(BootRequest(**{**request, "runner": "nothing"}))


def test_a_program_that_is_gone(request_for: Request) -> None:
    request = request_for(PARROT)
    request.program.pte.unlink()
    with pytest.raises(ConfigError, match="cannot be read"):
        boot(request)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written(request_for: Request) -> None:
    request = request_for(PARROT)
    request.folder.parent.chmod(0o555)
    with pytest.raises(ConfigError, match="cannot be written") as refused:
        boot(request)
    assert refused.value.cause is Cause.NOT_WRITABLE


def test_a_file_where_the_folder_should_be(request_for: Request) -> None:
    request = request_for(PARROT)
    request.folder.write_text("in the way")
    with pytest.raises(ConfigError, match="cannot be written") as refused:
        boot(request)
    assert refused.value.cause is Cause.NOT_WRITABLE


def test_the_fast_option_and_extra_settings(request_for: Request) -> None:
    fast = boot(request_for(PARROT))
    assert "ethosu.extra_args=--fast" in fast.command
    slow = boot(request_for(PARROT, fast=False, settings=("cpu0.CFGITCMSZ=15",)))
    assert not any("extra_args" in word for word in slow.command)
    assert slow.command[slow.command.index("cpu0.CFGITCMSZ=15") - 1] == "-C"


def test_known_quirks_of_the_version_are_noted(request_for: Request) -> None:
    capture = boot(request_for(PARROT))
    assert any("SYS_SEEK" in note for note in capture.notes)


def test_completed_is_not_enough(request_for: Request) -> None:
    request = request_for({"steps": [BANNER, says(COMPLETED + "\x04")]}, runner="arm-executorch-u55")
    capture = boot(BootRequest(**{**vars(request), "deadlines": Deadlines(20, 20, 30, 1, 0.3, 0.3)}))
    assert capture.ending.outcome is Outcome.NO_OUTPUT
