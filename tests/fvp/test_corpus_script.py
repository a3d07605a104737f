"""``scripts/corpus_on_boards`` on a made-up corpus: two programs, the answer of one wrong on purpose."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from corstone.formats.pte import read_pte
from corstone.reference import table
from corstone.reference.graph import read_graph
from corstone.reference.plan import run_plan

TOP = Path(__file__).parents[2]
DATA = TOP / "tests" / "data"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """acos twice, its answer that of the ``table`` reference; one byte of the second's is another."""
    folder = tmp_path_factory.mktemp("corpus")
    pte = read_pte(DATA / "acos-int8-u55-128.pte")
    graph = read_graph(DATA / "acos-int8.tosa")
    given = np.linspace(-1, 1, 256, dtype=np.float32).reshape(pte.input_specs[0].shape)
    done = run_plan(pte, [given], lambda _number, _delegate, tensors: table.run(graph, list(tensors)).outputs, [1])
    answer = np.ascontiguousarray(done.outputs[0]).tobytes()
    rows = []
    for name, data in (("right", answer), ("wrong", bytes([answer[0] ^ 1]) + answer[1:])):
        case = folder / "u55-128" / name
        case.mkdir(parents=True)
        shutil.copy(DATA / "acos-int8-u55-128.pte", case / "program.pte")
        (case / "input-0.bin").write_bytes(given.tobytes())
        (case / "tosa-program-0.bin").write_bytes(data)
        rows.append(
            {"id": name, "target": "u55-128", "operator": "acos", "dir": f"u55-128/{name}", "core": True, "tosa": "ok"}
        )
    (folder / "index.json").write_text(json.dumps({"cases": rows}))
    return folder


def script(corpus: Path, rows: Path, *more: str) -> tuple[int, str]:
    command = [sys.executable, str(TOP / "scripts" / "corpus_on_boards"), str(corpus), "--rows", str(rows), *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_run_that_was_stopped_goes_on_and_a_difference_is_red(corpus: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.ndjson"
    status, said = script(corpus, rows, "--only", "right")
    assert status == 0, said
    first = rows.read_text()
    assert {json.loads(line)["runner"] for line in first.splitlines()} == {"arm-executorch-u55", "corstone-300"}
    assert "Programs that two runners of a board both ran: 1; with other bits: 0." in said

    status, said = script(corpus, rows)
    assert status == 1, said
    assert rows.read_text().startswith(first)  # what was there was not booted again
    results = [(row["id"], row["result"]) for row in map(json.loads, rows.read_text().splitlines())]
    assert results == [("right", "equal")] * 2 + [("wrong", "different")] * 2
    assert "| u55-128 (2) | corstone-300 | corstone-300 | 2 | 1 | 1 | 0 | 0 |" in said
    assert "output 0: 1 of 1024 bytes differ" in said

    before = rows.read_bytes()
    assert script(corpus, rows, "--summary")[0] == 1
    assert script(corpus, rows, "--summary", "--only", "right")[0] == 0
    assert rows.read_bytes() == before


def test_several_processes_and_single_boots_give_the_same_rows(corpus: Path, tmp_path: Path) -> None:
    found = []
    for name, options in (("shared", ()), ("alone", ("--boot", "1")), ("two", ("--jobs", "2", "--boot", "1"))):
        status, said = script(corpus, tmp_path / name, "--runner", "corstone", *options)
        assert status == 1, said  # one of the answers is wrong
        rows = [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
        assert "2 in " in said
        found.append(sorted((r["id"], r["runner"], r["result"], r["digest"], r["reason"]) for r in rows))
    assert [row[:3] for row in found[0]] == [
        ("right", "corstone-300", "equal"),
        ("wrong", "corstone-300", "different"),
    ]
    assert found[0] == found[1] == found[2]


def test_nothing_chosen_is_red(corpus: Path, tmp_path: Path) -> None:
    assert script(corpus, tmp_path / "rows.ndjson", "--only", "no such program")[0] == 1
