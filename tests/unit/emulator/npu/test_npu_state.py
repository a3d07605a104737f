"""Register state: poison, persistence, and the states of many operations at once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corstone.emulator.npu.assemble import Assembler
from corstone.emulator.npu.decode import decode
from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.instructions import instruction_set
from corstone.emulator.npu.state import UNSET, RegisterFile, Registers

NAMES = ("IFM_REGION", "OFM_REGION", "IFM_BASE0", "IFM_DEPTH_M1")
STEPS = st.lists(st.one_of(st.none(), st.tuples(st.sampled_from(NAMES), st.integers(0, 7))), max_size=60)


@given(STEPS)
@settings(max_examples=80, deadline=None)
def test_states_are_those_of_a_walk(steps: list[tuple[str, int] | None]) -> None:
    instructions = instruction_set("U55")
    a = Assembler("U55")
    state = dict.fromkeys(NAMES, UNSET)
    expected = []
    for step in [*steps, None]:
        if step is None:
            a.op("POOL", mode="AVERAGE")
            expected.append(dict(state))
        else:
            a.set(*step)
            state[step[0]] = step[1]
    commands = decode(a.stream(), "U55")
    file = RegisterFile(instructions)
    half = len(expected) // 2
    got, addresses, changed = [], [], []
    base = np.array([instructions.by_name["IFM_BASE0"].index])
    nothing = np.zeros(len(instructions.registers), bool)
    start = 0
    # In two stretches, so that state crosses from one to the next.
    for part in (commands.operations[:half], commands.operations[half:]):
        if part.size:
            snapshots = file.snapshots(commands, start, part)
            got += [snapshots.row(n) for n in range(part.size)]
            addresses += snapshots.select(base).column(0).tolist()
            changed.append((part.size, snapshots.changes(nothing).tolist()))
            start = int(part[-1]) + 1
    for row, want in zip(got, expected, strict=True):
        assert {name: int(row[instructions.by_name[name].index]) for name in NAMES} == want
    assert addresses == [want["IFM_BASE0"] for want in expected]
    for size, changes in changed:
        states, expected = expected[:size], expected[size:]
        assert changes == [a != b for a, b in pairwise(states)]


def test_reading_a_register_that_was_never_set_names_it() -> None:
    instructions = instruction_set("U85")
    regs = Registers(instructions, [UNSET] * len(instructions.registers))
    with pytest.raises(NpuError, match="OFM_SCALE was never set") as caught:
        regs.field("OFM_SCALE", "shift")
    assert caught.value.kind == "parse"
    assert regs.get("OFM_SCALE", 7) == 7
    assert not regs.is_set("OFM_SCALE")


def test_changes_leave_out_what_does_not_count() -> None:
    instructions = instruction_set("U55")
    a = Assembler("U55")
    for base, region in ((0, 0), (16, 0), (32, 1)):
        a.set("IFM_BASE0", base).set("IFM_REGION", region).op("POOL", mode="AVERAGE")
    commands = decode(a.stream(), "U55")
    snapshots = RegisterFile(instructions).snapshots(commands, 0, commands.operations)
    ignored = np.zeros(len(instructions.registers), bool)
    ignored[instructions.by_name["IFM_BASE0"].index] = True
    assert snapshots.changes(ignored).tolist() == [False, True]
    chosen = snapshots.select(np.array([instructions.by_name[name].index for name in ("IFM_BASE0", "OFM_BASE0")]))
    assert chosen.column(0).tolist() == [0, 16, 32]
    assert chosen.column(1).tolist() == [UNSET] * 3
    assert [chosen.at(n) for n in range(3)] == [[base, UNSET] for base in (0, 16, 32)]
    assert chosen.part(1, 3).at(1) == [32, UNSET]
