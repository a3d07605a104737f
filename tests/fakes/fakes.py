"""Installs fake simulators into a folder, and makes small programs to boot on them."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

from corstone.program import Program, TensorSpec
from corstone.runners import Runner, elf_runner

HERE = Path(__file__).parent
U55 = "FVP_Corstone_SSE-300_Ethos-U55"
U85 = "FVP_Corstone_SSE-320"


def install_fake(folder: Path, scenario: dict[str, Any], name: str = U55) -> Path:
    """Put a fake simulator of that name into the folder; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / f"{name}.json"
    script.write_text(json.dumps(scenario))
    path = folder / name
    # The shell finds Python wherever it is, also with blanks in its path.
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "{HERE / "fake_fvp.py"}" "{script}" "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path


def small_program(folder: Path, inputs: tuple[int, ...] = (16,), outputs: tuple[int, ...] = (16,)) -> Program:
    """A program of bytes that nobody executes; sizes count int8 elements."""
    folder.mkdir(parents=True, exist_ok=True)
    pte = folder / "program.pte"
    pte.write_bytes(b"\x1c\x00\x00\x00ET12" + bytes(248))
    return Program(
        pte=pte,
        target="ethos-u55-128",
        inputs=tuple(TensorSpec(f"x{i}", "int8", (n,)) for i, n in enumerate(inputs)),
        outputs=tuple(TensorSpec(f"y{i}", "int8", (n,)) for i, n in enumerate(outputs)),
    )


_MARKS = {
    "memory": b"input tensor/s populated with",
    "semihosting": b"Writing output to file: ",
    "corstone": b"@corstone {",
}


def dummy_runner(folder: Path, kind: str) -> Runner:
    """A runner of that transport around a file that no fake looks at."""
    image = folder / "runner.elf"
    image.write_bytes(b"\x7fELF" + _MARKS.get(kind, b""))
    return elf_runner(image, "corstone-300")
