"""Differences of products and boards are rows of data: no code asks for a name.

Looked at are comparisons, ``match`` patterns and ``startswith`` of the whole package, by its syntax tree. Also that
every fact of the table is asked for, and tells at least two products apart.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import corstone
from corstone.emulator.npu.config import NpuConfig
from corstone.emulator.npu.differences import DIFFERENCES, Differences
from corstone.targets import TARGETS

PACKAGE = Path(corstone.__file__).parent
NAME = re.compile(
    r"U[568]5|(ethos-)?u[568]5(-\d+)?|corstone-3\d\d|sse-3\d\d|FVP_Corstone.*|arm-executorch.*", re.IGNORECASE
)
# The campaign describes what it found, and on which targets.
LEFT_OUT = "emulator/npu/fuzz/"


def _asked(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of each name that a condition is made of."""
    aliases = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.Tuple)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        parts: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            parts = [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            parts = list(node.args) if node.func.attr in {"startswith", "endswith"} else []
        for part in parts:
            meant = aliases.get(part.id, part) if isinstance(part, ast.Name) else part
            items = meant.elts if isinstance(meant, ast.Tuple | ast.List | ast.Set) else [meant]
            for item in items:
                if isinstance(item, ast.Constant) and isinstance(item.value, str) and NAME.fullmatch(item.value):
                    yield node.lineno if hasattr(node, "lineno") else 0, item.value


def test_no_code_compares_the_name_of_a_product_or_board() -> None:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(LEFT_OUT):
            found += [f"{name}:{line}: {text}" for line, text in _asked(ast.parse(path.read_text()))]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        'if config.product == "U85": pass',
        'x = 1 if "U55" != machine.config.product else 2',
        'if product in ("U55", "U65"): pass',
        'NEW = "U85"\nif product == NEW: pass',
        'if board.name.startswith("corstone-300"): pass',
        'match product:\n case "U65": pass',
    ],
)
def test_the_look_finds_such_code(text: str) -> None:
    assert len(list(_asked(ast.parse(text)))) >= 1


def test_every_fact_tells_products_apart_and_is_asked_for() -> None:
    code = [p.read_text() for p in PACKAGE.joinpath("emulator", "npu").rglob("*.py") if p.name != "differences.py"]
    code += [p.read_text() for p in PACKAGE.joinpath("report").glob("*.py")]
    for fact in fields(Differences):
        assert len({repr(getattr(row, fact.name)) for row in DIFFERENCES.values()}) > 1, fact.name
        assert any(re.search(rf"\bconfig\.{fact.name}\b", text) for text in code), fact.name


def test_each_target_has_its_products_row() -> None:
    assert {target.product for target in TARGETS.values()} == set(DIFFERENCES)
    for name, target in TARGETS.items():
        config = NpuConfig.for_target(name)
        row = DIFFERENCES[target.product]
        assert all(getattr(config, fact.name) == getattr(row, fact.name) for fact in fields(Differences))
