"""Work that the compile child spares: the answers and the programs are those of a lowering that spares nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.conftest import Programs

from corstone.lowering.edge_table import blocks, laid_out

pytest.importorskip("executorch", reason="ExecuTorch is not installed")

TABLE = """# executorch/exir/dialects/edge, a table
- func: aten::add
  inherits: aten::add.Tensor
  type_alias:
    T0: [Float, Half]
  type_constraint:
  - self: T0
    __ret_0: T0

- func: aten::neg
  inherits: aten::neg
  type_alias:
    T0: [Int]
"""


class Parser:
    """Stands for a YAML parser; keeps what it was given."""

    def __init__(self) -> None:
        self.given: list[str] = []

    def __call__(self, text: str) -> list[dict[str, object]]:
        self.given.append(text)
        return [{"inherits": "x", "type_alias": {"T0": ["Int"]}}]


def test_a_block_is_parsed_when_it_is_asked_for_and_once() -> None:
    parser = Parser()
    found = blocks(TABLE, parser)
    assert found is not None
    assert [block["inherits"] for block in found] == ["aten::add.Tensor", "aten::neg"]
    assert parser.given == []
    assert found[1]["type_alias"] == found[1]["type_alias"] == {"T0": ["Int"]}
    assert parser.given == ["- func: aten::neg\n  inherits: aten::neg\n  type_alias:\n    T0: [Int]\n"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a: 1\n",
        "first: 1\n" + TABLE,
        TABLE.replace("T0: [Int]", "T0: &a [Int]"),
        TABLE.replace("T0: [Int]", "T0: |\n      Int"),
        TABLE.replace("  inherits: aten::neg\n", ""),
        TABLE.replace("  inherits: aten::neg\n", "  inherits: aten::neg\n  inherits: aten::abs\n"),
        TABLE.replace("aten::neg\n  type", '"aten::neg"\n  type'),
    ],
)
def test_anything_else_is_left_to_the_parser(text: str) -> None:
    assert blocks(text, Parser()) is None


ENTRY = TABLE[TABLE.index("- func") : TABLE.index("- func: aten::neg")]


def test_an_entry_as_the_generator_lays_it_out_needs_no_parser() -> None:
    parser = Parser()
    found = blocks(TABLE, parser)
    assert found is not None
    assert dict(found[0]) == {
        "func": "aten::add",
        "inherits": "aten::add.Tensor",
        "type_alias": {"T0": ["Float", "Half"]},
        "type_constraint": [{"self": "T0", "__ret_0": "T0"}],
    }
    assert parser.given == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Half", "No"),
        ("Half", "0x1"),
        ("__ret_0: T0", "null: T0"),
        ("__ret_0: T0", "self: T0"),
        ("__ret_0: T0", "__ret_0: T0 # and more"),
        ("T0: [Float, Half]", "T0: {Float: Half}"),
        ("type_alias:", "type_alias: T0"),
        ("  - self: T0", "  - [self]"),
        ("  type_constraint:", "  more: T0\n  type_constraint:"),
    ],
)
def test_an_entry_that_could_mean_something_else_is_left_to_the_parser(before: str, after: str) -> None:
    assert laid_out(ENTRY) is not None
    assert before in ENTRY
    assert laid_out(ENTRY.replace(before, after)) is None


TABLES = """
from importlib import resources
import executorch.exir.dialects.edge as edge
from ruamel.yaml import YAML
from corstone.lowering.edge_table import blocks, laid_out

text = (resources.files(edge) / "edge.yaml").read_text()
parse = lambda text: YAML(typ="safe").load(text)
found = blocks(text, parse)
assert found is not None, "ExecuTorch's table is not cut into blocks any more"
assert [dict(block) for block in found] == parse(text)
assert [laid_out(block._text) for block in found] == parse(text), "an entry is laid out otherwise"
"""

OPERATORS = """
import torch
import torch._export.utils as utils
import torch.export.exported_program as programs
import executorch.exir
from corstone.lowering.replacing import is_known

ask, override = utils._collect_all_valid_cia_ops, programs._override_composite_implicit_decomp
from corstone.lowering import composites
assert is_known(ask, composites._QUESTION_READ) and is_known(override, composites._OVERRIDE_READ), "not spared"
composites.remember_composite_operators()
memory, at_once = utils._collect_all_valid_cia_ops, programs._override_composite_implicit_decomp
assert memory is not ask and at_once is not override

assert memory() == ask()
# Another namespace, as a lowering makes one, an operator more in it, and its end.
library = torch.library.Library("corstone_test", "DEF")
for name in ("one", "two"):
    library.define(f"{name}(Tensor x) -> Tensor")
    library.impl(name, lambda x: x + 1, "CompositeImplicitAutograd")
    getattr(torch.ops.corstone_test, name).default
    assert memory() == ask()
    assert any("corstone_test" in str(op) for op in memory())

def tables(override):
    with override({op: utils._special_op_to_preserve_cia for op in sorted(ask(), key=str)}):
        return {str(op): set(op.py_kernels) for op in ask()}

def now():
    return {str(op): dict(op.py_kernels) for op in ask()}

before = now()
assert tables(override) == tables(at_once) == tables(at_once)
assert now() == before
composite = torch._C.DispatchKey.CompositeImplicitAutograd
op = torch.ops.aten.silu.default if torch.ops.aten.silu.default in ask() else sorted(ask(), key=str)[0]
with at_once({op: "outer"}):
    with at_once({op: "inner"}):
        assert op.py_kernels[composite] == "inner"
    assert op.py_kernels[composite] == "outer"
assert now() == before
"""

RANGES = """
import torch
from torchao.quantization.pt2e.observer import HistogramObserver
from corstone.lowering import histogram
from corstone.lowering.replacing import is_known

original = HistogramObserver._non_linear_param_search
assert is_known(original, histogram._SEARCH_READ), "not spared"
histogram.search_with_numbers()
assert HistogramObserver._non_linear_param_search is not original
torch.manual_seed(0)
draws = [
    lambda: torch.rand(1, 3, 9, 9) * 2 - 1, lambda: torch.randn(30_000), lambda: torch.randn(1000) ** 5,
    lambda: torch.randn(8), lambda: torch.relu(torch.randn(4, 200)), lambda: torch.ones(10), lambda: torch.rand(1),
    lambda: torch.tensor([0.0, 1e-30, 1e30]), lambda: torch.zeros(3), lambda: torch.rand(400, dtype=torch.float64),
]
moved = 0
for draw in draws:
    for sets in (1, 3):
        observer = HistogramObserver(dtype=torch.int8, qscheme=torch.per_tensor_affine, eps=2**-16)
        for number in range(sets):
            observer(draw() * (number + 1))
        theirs, ours = original(observer), observer._non_linear_param_search()
        for a, b in zip(theirs, ours, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b) or a.isnan() and b.isnan(), (a, b)
        moved += bool(theirs[0] > observer.min_val or theirs[1] < observer.max_val)
assert moved > 4, moved
"""

# The stages by themselves: nothing is replaced, nothing remembered, and ordinary imports.
PLAIN = """
import sys
from dataclasses import replace
from pathlib import Path
import torch.export.exported_program as programs
from corstone.lowering.build import Builder
from corstone.lowering.lower import program_store
from corstone.lowering.request import LowerRequest
from corstone.lowering.stage import Run

*requests, folder = sys.argv[1:]
for text in requests:
    source, bits, policy = text.split(",")
    request = LowerRequest(source, bits=int(bits), policy=policy)
    ref = request.check()
    inputs, sets = tuple(request.example_inputs(ref)), tuple(request.calibration_sets(ref))
    cache = Path(folder) / text
    made = Builder().build(replace(request, inputs=inputs, calibration=sets), ref, cache, Run(lambda stage: None))
    print(program_store(cache).path(made["program"]) / "program.pte")
assert "corstone" not in programs._override_composite_implicit_decomp.__module__, "not plain"
"""


@pytest.mark.parametrize("script", [TABLES, OPERATORS, RANGES], ids=["edge table", "composite operators", "ranges"])
def test_the_answers_are_those_of_torch_and_executorch(script: str) -> None:
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr[-3000:]


def test_a_program_is_that_of_a_lowering_that_spares_nothing(programs: Programs, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PLAIN, "acos,16,fixed", str(tmp_path)], capture_output=True, text=True, timeout=280
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    (plain,) = (Path(line) for line in ended.stdout.splitlines() if line.endswith(".pte"))
    assert plain.read_bytes() == programs("acos", 16, "fixed").pte.read_bytes()
