"""What a board leaves behind cannot make the harness write outside its folder, or take in what lies elsewhere.

Files planted under names that are read, a console that names files and steers terminals, a capture folder with links
in it or a list of files elsewhere, names that hold paths. Each ends with the same look at everything around.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.endings.case import BANNER, ET_END, ET_RUN, ET_START, MLEK, OUT0, PATIENT, says
from tests.fakes.fakes import dummy_runner, install_fake, small_program

from corstone.boards import BootRequest, boot
from corstone.capture import Capture
from corstone.causes import Outcome
from corstone.cli import main
from corstone.judge.reference import ReferenceResult
from corstone.judge.stored import Question, store
from corstone.paths import file_name
from corstone.pipeline import CheckRequest, check_one, judge_capture
from corstone.report import terminal
from corstone.report.folder import write_folder

SECRET = b"nobody but the owner reads this\n"
OWN = {"capture.json", "console.log", "program.json", "in-0.bin", "out-0.bin"}
CONSOLE = (
    "\x1b]0;title\x07\x1b[2J\x1b]52;c;cm0gLXJmIH4=\x07\u202e<script>alert(1)</script>\r\n"
    "Writing output to file: ../../stolen.bin\nWriting output to file: {secret}\n"
    "INFO - 1 output tensor/s worth 16 bytes copied to ../../../copied\n$(touch harmed) `touch harmed`\n"
    "::set-output name=x::y\n::stop-commands::z\n##[command]touch harmed\n"
)


Boots = Callable[..., Capture]


def everything(folder: Path) -> dict[str, bytes]:
    """Every plain file below a folder with its bytes, and every link with where it leads."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            found[str(path)] = bytes(path.readlink())
        elif path.is_file():
            found[str(path)] = path.read_bytes()
    return found


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders above the harness's own with a file in them; the working folder is below it."""
    outside = tmp_path / "outside"
    (outside / "here").mkdir(parents=True)
    (outside / "secret").write_bytes(SECRET)
    monkeypatch.chdir(outside / "here")
    return outside


@pytest.fixture
def played(tmp_path: Path, outside: Path) -> Boots:
    """Boots a fake FVP that takes these steps; nothing outside its capture folder may change meanwhile."""

    def run(steps: list[list[Any]], runner: str = "semihosting") -> Capture:
        install_fake(tmp_path / "fvp", {"steps": [BANNER, *steps]})
        request = BootRequest(
            program=small_program(tmp_path / "program"),
            inputs=(bytes(16),),
            folder=outside / "here" / "capture",
            provider="fvp",
            fvp_dir=tmp_path / "fvp",
            runner_elf=tmp_path / "program" / "runner.elf",
            deadlines=PATIENT,
            preflight=False,
        )
        dummy_runner(tmp_path / "program", runner)
        before = everything(outside)
        capture = boot(request)
        after = everything(outside)
        inside = str(request.folder)
        changed = {k for k in before.keys() | after.keys() if before.get(k) != after.get(k)}
        assert not {name for name in changed if not name.startswith(inside)}
        assert not any(SECRET in data for name, data in after.items() if name.startswith(inside))
        return capture

    return run


def linked(name: str, to: Path) -> list[Any]:
    return ["link", {"name": name, "to": str(to)}]


@pytest.mark.parametrize("name", ["link", "dangling", "fifo", "folder", "device"])
def test_an_output_that_is_no_file_is_not_taken(played: Boots, outside: Path, name: str) -> None:
    planted = {
        "link": linked("out-0.bin", outside / "secret"),
        "dangling": linked("out-0.bin", outside / "made"),
        "fifo": ["fifo", "out-0.bin"],
        "folder": ["folder", "out-0.bin"],
        "device": linked("out-0.bin", Path("/dev/zero")),
    }[name]
    capture = played([says(ET_START + ET_RUN + ET_END), planted, ["exit", 0]])
    assert capture.ending.outcome is Outcome.NO_OUTPUT
    assert capture.outputs == ()
    assert {p.name for p in capture.folder.iterdir()} == OWN - {"out-0.bin"}


@pytest.mark.parametrize("name", ["out-1.bin", "trace.txt", "capture.json"])
def test_a_link_beside_the_outputs_leads_nowhere(played: Boots, outside: Path, name: str) -> None:
    planted = linked(name, outside / "secret")
    capture = played([says(ET_START + ET_RUN + ET_END), OUT0, planted, ["exit", 0]])
    assert {p.name for p in capture.folder.iterdir()} == OWN
    assert not any(p.is_symlink() for p in capture.folder.iterdir())


@pytest.mark.parametrize("planted", ["link", "device"])
def test_a_dump_that_is_a_link_is_not_taken(played: Boots, outside: Path, planted: str) -> None:
    to = outside / "secret" if planted == "link" else Path("/dev/zero")
    capture = played([linked("outputs.bin", to), says(MLEK), ["exit", 0]], runner="memory")
    assert capture.ending.outcome is not Outcome.PASSED
    assert capture.outputs == ()


def test_more_files_than_asked_for_are_kept_within_bounds(played: Boots) -> None:
    extra = [["write", {"name": f"out-{i}.bin", "size": 2 << 20 if i == 1 else 1}] for i in range(1, 40)]
    capture = played([says(ET_START + ET_RUN + ET_END), OUT0, *extra, ["exit", 0]])
    assert capture.ending.outcome is Outcome.NO_OUTPUT
    assert len(capture.outputs) == 17
    assert (capture.folder / "out-1.bin").stat().st_size == 1 << 20


def frame(data: dict[str, Any]) -> str:
    """A frame as our runner makes them, its checksum right."""
    body = json.dumps(data, separators=(",", ":"))
    return f"@corstone {body} #{zlib.crc32(body.encode()):08x}\n"


@pytest.mark.parametrize("runner", ["semihosting", "memory", "corstone", "console"])
def test_a_console_names_no_file_of_ours(played: Boots, outside: Path, runner: str) -> None:
    text = CONSOLE.replace("{secret}", str(outside / "secret"))
    for name in ("../../../framed", str(outside / "framed"), "out-0.bin"):
        text += frame({"n": 1, "e": "output", "i": 0, "name": name, "file": name, "path": name, "bytes": 16})
    capture = played([says(ET_START + ET_RUN + text + ET_END), OUT0, ["exit", 0]], runner)
    # Shown to people, it steers nothing: no control character is left, no markup, no command of a CI server.
    record = replace(judge_capture(capture.folder), network=CONSOLE, case_id="../../x")
    before = everything(outside)
    write_folder(outside / "here" / "report", [record], 1)
    page = terminal.page(record, capture.console)
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert not any(line.startswith(("::", "##[")) for line in page.splitlines())
    for name in ("report.html", "report.json", "junit.xml", "summary.md"):
        written = (outside / "here" / "report" / name).read_text()
        assert "\x1b" not in written
        assert name == "report.json" or "<script>alert" not in written  # JSON is no markup
    new = {Path(name).relative_to(outside / "here") for name in everything(outside).keys() - before.keys()}
    assert {path.parts[0] for path in new} == {"report"}


def test_links_that_wait_in_the_folder_are_replaced(played: Boots, outside: Path) -> None:
    folder = outside / "here" / "capture"
    folder.mkdir()
    names = {*OWN, "record.json", "references.json", "judge.json", "ref-table-0.npy", "trace.txt"}
    for name in names:
        (folder / name).symlink_to(outside / "secret")
    capture = played([says(ET_START + ET_RUN + ET_END), OUT0, ["exit", 0]])
    np = pytest.importorskip("numpy")
    store(folder, Question(), [ReferenceResult("table", (np.zeros(16, np.int8),))])
    judge_capture(folder).save(folder / "record.json")
    assert (outside / "secret").read_bytes() == SECRET
    assert capture.ending.outcome is Outcome.PASSED
    assert not any(p.is_symlink() for p in folder.iterdir())


def test_a_capture_that_lists_files_elsewhere_is_refused(
    played: Boots, outside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = played([says(ET_START + ET_RUN + ET_END), OUT0, ["exit", 0]])
    path = capture.folder / "capture.json"
    good = json.loads(path.read_text())
    for name in ("../../secret", "/etc/hostname", "sub/../../secret", "..", ""):
        for key in ("inputs", "outputs"):
            path.write_text(json.dumps(good | {key: [name]}))
            before = everything(outside)
            status = main(["judge", str(capture.folder), "--save", "--json", str(outside / "here" / "verdicts.json")])
            assert status == 2
            assert "outside the capture" in capsys.readouterr().err
            assert everything(outside) == before


def test_a_saved_record_does_not_go_through_a_link(played: Boots, outside: Path) -> None:
    capture = played([says(ET_START + ET_RUN + ET_END), OUT0, ["exit", 0]])
    (capture.folder / "record.json").symlink_to(outside / "secret")
    assert main(["judge", str(capture.folder), "--save"]) != 0  # there is nothing to judge it by
    assert (outside / "secret").read_bytes() == SECRET
    assert json.loads((capture.folder / "record.json").read_text())["case_id"] == "capture"


LABELS = ["../../x", "/tmp/x", "..", "a/../../b", "a\0b", "a\nb\x1b[2J", "x" * 400, "\ud800", "é" * 200]


@pytest.mark.parametrize("label", LABELS, ids=ascii)
def test_a_label_is_one_folder_below_the_run(outside: Path, label: str) -> None:
    out = outside / "here" / "out"
    before = everything(outside)
    record = check_one(CheckRequest("no/such/file.py:Net", label=label, out=out))
    assert record.verdict.outcome is not Outcome.PASSED
    made = [Path(name) for name in everything(outside).keys() - before.keys()]
    assert [path.parent.parent for path in made] == [out / "cases"]
    assert made[0].name == "record.json"


def test_usual_names_stay_and_long_ones_stay_apart() -> None:
    usual = "acos-int8-fixed-ethos-u55-128-corstone-300-codes"
    assert file_name(usual) == usual
    assert len({file_name("x" * 300 + end) for end in "abc"}) == 3
    assert all(len(file_name(label).encode()) <= 200 for label in LABELS)
    assert [file_name(text) for text in ("", ".", "..")] == ["_"] * 3
