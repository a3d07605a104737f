"""A vendor's compiled network, its input and the output published for its device: equal, byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from corstone.emulator.npu import ArrayMemory, NpuConfig, TraceRecord, execute
from corstone.formats.flatbuf import Buffer
from corstone.formats.vela import read_payload

VECTORS = Path(__file__).parents[5] / "shared" / "vectors"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not VECTORS.is_dir(), reason="the vendor vectors are not beside the project"),
]

# Fields of the TFLite schema: Model.subgraphs and .buffers, SubGraph.tensors and .operators, Tensor.shape and .buffer,
# Operator.inputs.
SUBGRAPHS, BUFFERS, TENSORS, OPERATORS, SHAPE, BUFFER, INPUTS = 2, 4, 0, 3, 0, 2, 1


def parts(name: str) -> tuple[bytes, bytes, int]:
    """The driver payload, the weights and the arena's size of a ``.tflite`` with one ethos-u operator."""
    model = Buffer((VECTORS / f"{name}.tflite").read_bytes()).root()
    graph = next(model.tables(SUBGRAPHS))
    buffers = [table.bytes(0) for table in model.tables(BUFFERS)]
    tensors = list(graph.tables(TENSORS))
    payload, weights, arena = next(graph.tables(OPERATORS)).scalars(INPUTS, "i")[:3]
    size = int(np.prod(tensors[arena].scalars(SHAPE, "i")))
    data = [buffers[tensors[index].scalar(BUFFER, "I")] for index in (payload, weights)]
    return data[0], data[1], size


def tensor_address(record: TraceRecord, name: str) -> int:
    assert record.tensors is not None
    found: Mapping[str, object] = record.tensors[name]
    address = found["address"]
    assert isinstance(address, list)
    return int(address[0])


@pytest.mark.parametrize("name", ["kws-u55-128", "kws-u85-256"])
def test_keyword_spotting_gives_the_published_output(name: str) -> None:
    payload, weights, arena_size = parts(name)
    target = read_payload(payload).target
    assert target is not None
    assert target.name == name.replace("kws", "ethos")
    expected = (VECTORS / f"{name}-output.bin").read_bytes()
    data = np.fromfile(VECTORS / f"{name}-input.bin", np.uint8)

    def run(input_at: int) -> tuple[list[TraceRecord], np.ndarray]:  # type: ignore[type-arg]
        memory = ArrayMemory()
        records: list[TraceRecord] = []
        memory.add(0x9000_0000, np.frombuffer(weights, np.uint8).copy(), writable=False)
        arena = memory.add(0xA000_0000, np.zeros(arena_size, np.uint8))
        arena[input_at : input_at + data.size] = data
        config = NpuConfig.for_target(target.name)
        bases = (0x9000_0000, 0xA000_0000, 0xA000_0000)
        execute(read_payload(payload).stream, bases, memory, config, records.append)
        return [r for r in records if r.tensors and "OFM" in r.tensors], arena

    # Where input and output are is only in the stream: the first IFM and the last OFM.
    operations, _ = run(0)
    operations, arena = run(tensor_address(operations[0], "IFM") - 0xA000_0000)
    at = tensor_address(operations[-1], "OFM") - 0xA000_0000
    assert arena[at : at + len(expected)].tobytes() == expected
