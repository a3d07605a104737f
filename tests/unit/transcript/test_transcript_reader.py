"""Transcripts read as evidence: Arm's runner, ExecuTorch's runner, the simulator, counters, and any bytes at all."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corstone.transcript import read_transcript
from corstone.transcript.lines import SIMULATOR, TARGET, split_lines, unprintable
from corstone.transcript.metrics import executorch_counters, mlek_counters
from corstone.transcript.mlek import Moved

MLEK = (
    b"INFO - WARN - MPS3_SCC->CFG_ACLK reads 0. Assuming default clock of 32000000\r\n"
    b"INFO - 2 input tensor/s populated with 1024 bytes with data read from 0x92000000\r\n"
    b"INFO - Running inference... \r\n"
    b"INFO - Inference completed.\r\n"
    b"INFO - 1 output tensor/s worth 1024 bytes copied to 0x93000000\r\n"
    b"INFO - program terminating...\r\n\x04\x00"
)


def metrics(samples: list[dict[str, object]]) -> str:
    document = [{"profiling_group": "Inference", "count": 1, "samples": samples}]
    return "<metrics>" + base64.b64encode(json.dumps(document).encode()).decode() + "</metrics>"


def test_arms_runner() -> None:
    log = read_transcript(MLEK)
    assert log.mlek.populated == Moved(2, 1024, 0x92000000)
    assert log.mlek.copied == Moved(1, 1024, 0x93000000)
    assert (log.mlek.completed, log.mlek.failed, log.mlek.terminating, log.eot) == (True, False, True, True)
    assert log.last_target_line == "INFO - program terminating..."


def test_arms_counters() -> None:
    text = metrics([{"name": "NPU ACTIVE", "value": [1234]}, {"name": "NPU TOTAL", "value": [5678]}])
    assert read_transcript(b"INFO - " + text.encode() + b"\r\n").counters == {"NPU ACTIVE": 1234, "NPU TOTAL": 5678}


def test_broken_counters_are_left_out() -> None:
    good = metrics([{"name": "NPU IDLE", "value": [7]}])
    assert mlek_counters("<metrics>@@@</metrics>" + good) == {"NPU IDLE": 7}
    for document in (
        "[]",
        "{}",
        "3",
        '[{"samples": 3}]',
        '[{"samples": [3]}]',
        '[{"samples":[{"name":1}]}]',
    ):
        assert mlek_counters(f"<metrics>{base64.b64encode(document.encode()).decode()}</metrics>") == {}
    assert mlek_counters(metrics([{"name": "x", "value": ["text"]}])) == {}


def test_executorchs_runner() -> None:
    et = b"I [executorch:arm_executor_runner.cpp:489 main()] "
    log = read_transcript(
        et + b"PTE @ 0x70000000 [----ET12]\n" + et + b"Method 'forward' loaded.\n" + et + b"2 outputs: \n"
        b"E [executorch:program.cpp:230 get_execution_plan()] deprecated\n"
        b"W [executorch:old.cpp:1] not one of the four letters\n"
        + et + b"Writing output to file: out-0.bin\n" + et + b"Model run: 1\n" + et + b"Program complete, exiting.\n"
    ).executorch  # fmt: skip
    assert log.identifier == "ET12"
    assert log.method_loaded
    assert log.output_count == 2
    assert log.written == ("out-0.bin",)
    assert log.model_run is True
    assert log.complete
    assert [m.message for m in log.messages if m.severity == "E"] == ["deprecated"]


def test_log_lines_of_both_ages_are_read() -> None:
    old = read_transcript(b"I [executorch:arm_executor_runner.cpp:489] Model in 0x70000000\n").executorch.messages
    new = read_transcript(b"F [ExecuTorch: method.cpp:12 main()] gone\n").executorch.messages
    assert (old[0].where, new[0].severity) == ("arm_executor_runner.cpp:489", "F")


def test_model_run_must_be_good_each_time() -> None:
    assert read_transcript(b"Model run: 1\nModel run: 0\n").executorch.model_run is False
    assert read_transcript(b"nothing\n").executorch.model_run is None


def test_dumped_elements_without_a_value_do_not_count() -> None:
    log = read_transcript(
        b"Output[0][0]: (float) 0.000000\nOutput[0][1]: (float) \nOutput[0][2]: (float) nan\n"
        b"Output[1][0]: (bool) true (0x1)\nOutput[0][3]: (float) -0.000000\nOutput[2]: Not Tensor\n"
    )
    assert log.executorch.elements == {0: 3, 1: 1}


def test_pmu_report_of_both_ages() -> None:
    new = ["ethosu_pmu_cycle_cntr : 900 (900.00 per inference)", "ethosu_pmu_cntr0 : 5 (5.00 per inference)"]
    old = ["ethos-u : cycle_cnt : 77 cycles", "ethosu_pmu_cntr1 : 6"]
    events = ["Ethos-U PMU Events:[AXI0_RD, AXI1_RD]"]
    assert executorch_counters(new + events) == {"ethosu_pmu_cycle_cntr": 900, "AXI0_RD": 5}
    assert executorch_counters(old + events) == {"cycle_cnt": 77, "AXI1_RD": 6}
    assert executorch_counters(old) == {"cycle_cnt": 77, "ethosu_pmu_cntr1": 6}


def test_the_simulators_words() -> None:
    log = read_transcript(
        b"telnetterminal0: Listening for serial connection on port 5000\n"
        b"Application exit code: -3.\n\nEXITTHESIM\n"
        b"Info: Simulation is stopping. Reason: CPU time has been exceeded.\n"
        b"Info: /OSCI/SystemC: Simulation stopped by user.\n"
        b"Wall time                               : 4.265401s\n"
        b"cpu0                                    :  36.57 MIPS (    73961463 Inst)\n"
    ).simulator
    assert (log.started, log.stopped, log.tag, log.exit_code) == (True, True, True, -3)
    assert log.reason == "CPU time has been exceeded"
    assert log.statistics == {"Wall time": 4.265401, "Instructions": 73961463}


@pytest.mark.parametrize(
    ("line", "source"),
    [
        ("telnetterminal5: Listening for serial connection on port 5003", SIMULATOR),
        ("Info: FVP_MPS3_Corstone_SSE_300: telnetterminal0: Listening for serial connection on port 5000", SIMULATOR),
        ("    Ethos-U rev 136b7d75 --- Apr 12 2023 13:44:01", SIMULATOR),
        ("    (C) COPYRIGHT 2019-2023 Arm Limited", SIMULATOR),
        ("[warning ][main@0][01 ns] Simulation stopped by user", SIMULATOR),
        ("--- cpu_core statistics: ------------------------------------------------------", SIMULATOR),
        ("FVP_MPS3_Corstone_SSE_300.cpu0          :   7.08 MIPS (     1171181 Inst)", SIMULATOR),
        ("xterm: Xt error: Can't open display: ", SIMULATOR),
        ("Fatal: license error: The license found is assigned to another user.", SIMULATOR),
        ("corstone-emulator: anything", SIMULATOR),
        ("qemu: fatal: Lockup: can't escalate 3 to HardFault", SIMULATOR),
        ("Ethos-U is fine", TARGET),
        ("EXITTHESIM", TARGET),
        ("INFO - Inference completed.", TARGET),
        ("E [executorch:program.cpp:230 main()] text", TARGET),
        ("Errors: 0", TARGET),
    ],
)
def test_whose_line_it_is(line: str, source: str) -> None:
    assert [found.source for found in split_lines(line.encode())] == [source]


def test_line_ends_of_every_kind() -> None:
    assert [line.text for line in split_lines(b"a\r\nb\nc\rd\r\r\n\x04\x00\n")] == ["a", "b", "c", "d"]


def test_unprintable_bytes_are_counted() -> None:
    assert unprintable(MLEK.replace(b"\x00", b"")) == 0
    assert unprintable("grün\t\x1b[0m\r\n".encode()) == 0
    assert unprintable(b"\x01\x02\xff\xfe\x7f") == 5


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=60), st.sampled_from(MLEK.splitlines(keepends=True)))))
def test_any_bytes_are_read(parts: list[bytes]) -> None:
    raw = b"".join(parts)
    log = read_transcript(raw)
    assert log.size_bytes == len(raw)
    assert log.eot == (b"\x04" in raw)


def test_a_long_transcript_keeps_its_ends() -> None:
    log = read_transcript(b"first\n" + b"again\n" * 500_000 + b"last\n")
    assert (log.lines[0].text, log.lines[-1].text) == ("first", "last")
    assert len(log.lines) < 200_000
