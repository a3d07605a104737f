"""The runner is our own: no foreign notice in its sources, and no header but ours and what a C compiler itself brings.

All files of ``harness/corstone/firmware`` are looked at. C11 4 paragraph 6 lists a freestanding compiler's headers.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from corstone.firmware.build import ROOT

FREESTANDING = ("float", "iso646", "limits", "stdalign", "stdarg", "stdbool", "stddef", "stdint", "stdnoreturn")
# The loader as a process of the host, for tests: never on a board.
HOSTED = {"host": (*FREESTANDING, "stdio", "stdlib", "string")}
KINDS = (".c", ".h", ".ld", ".py", ".md")
NOTICE = re.compile(
    r"copyright|\(c\) *\d{4}|©|spdx|licen[sc]ed? under|all rights reserved|permission is hereby granted|"
    r"redistribution and use|without warrant|@author|cmsis-core|arm limited",
    re.IGNORECASE,
)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*(?:include|import|embed)\b[ \t]*(.*)$", re.MULTILINE)
FILES = [path for path in sorted(ROOT.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]


def foreign_headers(text: str, folder: str) -> list[str]:
    """What a source includes besides our headers and those allowed for its folder."""
    own = {path.name for path in ROOT.rglob("*.h")}
    allowed = {f"<{name}.h>" for name in HOSTED.get(folder, FREESTANDING)} | {f'"{name}"' for name in own}
    found = [what.split("//")[0].split("/*")[0].strip() for what in _INCLUDE.findall(text)]
    return [what for what in found if what not in allowed]


def test_there_are_sources() -> None:
    names = {path.name for path in FILES}
    assert {"main.c", "startup.c", "pte_reader.c", "ethosu.c", "corstone-300.ld"} <= names
    assert len([path for path in FILES if path.suffix in {".c", ".h"}]) >= 40


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_file_is_ours(path: Path) -> None:
    assert path.suffix in KINDS, "libraries and objects of others have no place here"
    text = path.read_text(encoding="utf-8")
    assert NOTICE.findall(text) == []
    if path.suffix in {".c", ".h", ".ld"}:
        assert foreign_headers(text, path.parent.name) == []


@pytest.mark.parametrize(
    "text",
    ['#include "cmsis_compiler.h"', "#include <string.h>", "  # include <stdio.h> // for tests", "#include NAME"],
)
def test_the_look_finds_foreign_headers(text: str) -> None:
    assert len(foreign_headers(text, "src")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "/* Copyright 2023 Somebody */",
        "SPDX-License-Identifier: Apache-2.0",
        "Permission is hereby granted, free of charge",
        "(c) 2019-2024 Arm Limited. All rights reserved.",
    ],
)
def test_the_look_finds_foreign_notices(text: str) -> None:
    assert NOTICE.search(text)
