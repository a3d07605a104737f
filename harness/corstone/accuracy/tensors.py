"""Every tensor inside a TOSA graph: the TOSA reference model run with all of them as outputs.

The graph's flatbuffer gets a new list of outputs, appended at its end; nothing else in it changes. Where ``table`` can
interpret the graph, it answers instead, faster and without the model. Source: tosa.fbs, TosaBasicBlock (its outputs are
field 4). Leaves out which tensors the NPU writes (``matching``).
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.errors import ConfigError
from corstone.formats.flatbuf import Buffer, FlatbufferError
from corstone.program import Program
from corstone.reference import table, tosa
from corstone.reference.answers import answers
from corstone.reference.graph import Graph, read_graph

Array = npt.NDArray[Any]

_OUTPUTS_FIELD = 4
_READABLE = frozenset({"int8", "int16", "int32", "bool"})


def all_tensors(path: Path, inputs: Sequence[Array]) -> dict[str, Array]:
    """Values of every computed tensor of a TOSA graph by name, inputs included.

    Raises
    ------
    Unpredictable: the graph's answer is open for these inputs.
    ToolError, ConfigError: as the references raise them.
    """
    graph = read_graph(path)
    given = table.graph_inputs(graph, inputs)
    if not table.unsupported(graph):
        return {name: np.asarray(a) for name, a in table.run(graph, inputs).tensors.items() if name in _computed(graph)}
    names = tuple(name for name in _computed(graph) if graph.tensors[name].dtype in _READABLE and name not in given)
    with tempfile.TemporaryDirectory(prefix="corstone-tensors-") as folder:
        patched = Path(folder) / path.name
        patched.write_bytes(with_outputs(path.read_bytes(), names))
        outputs = tosa.run(patched, inputs)
    return given | dict(zip(names, outputs, strict=True))


def _computed(graph: Graph) -> tuple[str, ...]:
    made = [name for op in graph.ops if not op.name.startswith("CONST") for name in op.outputs]
    return tuple(dict.fromkeys([*graph.inputs, *(name for name in made if name in graph.tensors)]))


def with_outputs(flatbuffer: bytes, names: Sequence[str]) -> bytes:
    """A TOSA flatbuffer whose main block has these outputs.

    Raises
    ------
    ConfigError: it is damaged, or has no list of outputs to replace.
    """
    try:
        regions = list(Buffer(flatbuffer).root().tables(1))
        block = next(iter(regions[0].tables(1)))
        position = block.position(_OUTPUTS_FIELD)
    except (FlatbufferError, IndexError, StopIteration) as error:
        raise ConfigError(f"not a usable TOSA flatbuffer: {error}") from error
    if position is None:
        raise ConfigError("the TOSA graph has no list of outputs")
    data = bytearray(flatbuffer)
    data += bytes(-len(data) % 8)
    vector = len(data)
    # A vector of forward offsets, then the strings they point to, each with its length and a terminating zero.
    data += struct.pack("<I", len(names)) + bytes(4 * len(names))
    for i, name in enumerate(names):
        slot = vector + 4 + 4 * i
        struct.pack_into("<I", data, slot, len(data) - slot)
        text = name.encode()
        data += struct.pack("<I", len(text)) + text + b"\0"
        data += bytes(-len(data) % 4)
    struct.pack_into("<I", data, position, vector - position)
    return bytes(data)


def delegate_inputs(program: Program, inputs: Sequence[Array]) -> tuple[tuple[Array, ...], ...]:
    """What each delegate call of a program gets, in the order of the calls, when the program gets ``inputs``.

    Raises
    ------
    ConfigError: the exact references do not answer for this program; the message says why.
    """
    answer = answers(program, inputs, ("tosa",))["tosa"]
    if not answer.calls:
        raise ConfigError(f"the tensors inside {program.network} cannot be computed: {answer.result.message}")
    graphs = [read_graph(path) for path in program.tosa]
    return tuple(
        tuple(
            flat.view(np.dtype(graph.tensors[name].dtype)).reshape(graph.tensors[name].shape)
            for name, flat in zip(graph.inputs, call.inputs, strict=True)
        )
        for graph, call in zip(graphs, answer.calls, strict=True)
    )


def calibration_codes(program: Program, sets: Sequence[Sequence[Array]]) -> dict[tuple[int, str], Array]:
    """Codes that reached each TABLE's input over several input sets, by delegate and tensor name, flat."""
    met: dict[tuple[int, str], list[Array]] = {}
    wanted = [{op.inputs[0] for op in read_graph(path).ops if op.name == "TABLE"} for path in program.tosa]
    for inputs in sets:
        for number, given in enumerate(delegate_inputs(program, inputs)):
            tensors = all_tensors(program.tosa[number], given)
            for name in wanted[number] & tensors.keys():
                met.setdefault((number, name), []).append(tensors[name].reshape(-1))
    return {key: np.concatenate(parts) for key, parts in met.items()}
