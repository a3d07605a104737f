"""What a real FVP does where no public log says so: ``corstone doctor --fvp-report FILE``.

Each row starts the FVP with something harmless and keeps status and text. The first user with an FVP can send the file;
the facts marked assumed in this project can then be replaced. Nothing of the user's is in it but the paths, which are
shortened to file names.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from corstone.boards.providers.simulator import Simulator

_SECONDS = 60
_TEXT = 4000


@dataclass(frozen=True)
class Question:
    """Arguments to try and the assumption they test."""

    name: str
    arguments: tuple[str, ...]
    assumption: str


def _questions(elf: Path) -> tuple[Question, ...]:
    app = ("-a", str(elf))
    return (
        Question("version", ("--version",), "banner 'Fast Models [x.y.z (date)]', status 0"),
        Question("unknown-parameter", ("-C", "no.such.parameter=1", *app), "a message that names it, status not 0"),
        Question("bad-value", ("-C", "mps3_board.uart0.shutdown_on_eot=maybe", *app), "a message, status not 0"),
        Question("unknown-option", ("--no-such-option",), "a message, status not 0"),
        Question("missing-elf", ("-a", "no-such-file.elf", "--timelimit", "5"), "a message, status not 0"),
        Question("missing-data", ("--data", "no-such-file@0x60000000", *app, "--timelimit", "5"), "a message"),
        Question("timelimit", (*app, "--timelimit", "2"), "'CPU time has been exceeded', status not known"),
        Question("dump", (*app, "--timelimit", "2", "--dump", "dump.bin@0x60000000,64"), "writes dump.bin of 64 bytes"),
        Question("joined-parameter", ("-Cmps3_board.uart0.shutdown_on_eot=1", "--version"), "-Ca=b is accepted"),
    )


def fvp_report(simulator: Simulator, elf: Path, file: Path) -> None:
    """Ask all questions and write the answers as JSON; takes up to a few minutes."""
    rows = [{"name": q.name, "assumption": q.assumption, **_ask(simulator, q)} for q in _questions(elf)]
    document = {"schema": 1, "simulator": simulator.name, "version": simulator.version, "answers": rows}
    file.write_text(json.dumps(document, indent=1) + "\n")


def _ask(simulator: Simulator, question: Question) -> dict[str, object]:
    with tempfile.TemporaryDirectory(prefix="cst-") as folder:
        try:
            done = subprocess.run(
                [*simulator.argv, *question.arguments],
                cwd=folder,
                env=dict(os.environ) | dict(simulator.env),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="backslashreplace",
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"status": None, "text": f"did not end in {_SECONDS} s", "files": {}}
        files = {path.name: path.stat().st_size for path in Path(folder).iterdir()}
    text = done.stdout + done.stderr
    for word in (*simulator.argv, *question.arguments, str(Path.home())):
        if "/" in word:
            text = text.replace(word, Path(word).name)
    return {"status": done.returncode, "text": text[:_TEXT], "files": files}
