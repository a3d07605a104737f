"""Many input sets in one boot of our runner: the bits of single boots, and what a boot did before it died stays."""

from __future__ import annotations

import json
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.fakes.processes import kill_qemu_at

from corstone.boards import BootRequest, boot
from corstone.boards.many import boot_many
from corstone.causes import Outcome
from corstone.cli import main
from corstone.errors import ConfigError
from corstone.formats.pte import read_pte
from corstone.program import Program

ACOS = Path(__file__).parents[1] / "data" / "acos-int8-u55-128.pte"
pytestmark = pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="qemu-system-arm is not installed")


def request(out: Path) -> BootRequest:
    whole = read_pte(ACOS)
    program = Program(ACOS, "ethos-u55-128", whole.input_specs, whole.output_specs)
    return BootRequest(program, (), out, provider="emulator", runner="corstone-300")


def sets(count: int) -> list[tuple[bytes, ...]]:
    (spec,) = read_pte(ACOS).input_specs
    draws = np.random.default_rng(7).uniform(-1.2, 1.2, (count, *spec.shape)).astype(spec.dtype)
    return [(draw.tobytes(),) for draw in draws]


def test_each_set_gets_the_bits_of_a_boot_of_its_own(tmp_path: Path) -> None:
    given = sets(3)
    captures = boot_many(request(tmp_path / "many"), given)
    assert [capture.ending.outcome for capture in captures] == [Outcome.PASSED] * 3
    together = [(tmp_path / "many" / f"set-{i}" / "out-0.bin").read_bytes() for i in range(3)]
    assert len(set(together)) == 3
    alone = boot(replace(request(tmp_path / "alone"), inputs=given[1]))
    assert alone.ending.outcome is Outcome.PASSED
    assert (tmp_path / "alone" / "out-0.bin").read_bytes() == together[1]
    assert len(list((tmp_path / "many").glob("boot-*.log"))) == 1


def test_a_set_that_does_not_fit_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        boot_many(request(tmp_path / "many"), [*sets(1), (b"short",)])
    assert not list(tmp_path.glob("many/boot-*.log"))


def test_a_boot_that_is_killed_costs_one_set(tmp_path: Path) -> None:
    given = sets(64)
    whole = boot_many(request(tmp_path / "whole"), given)
    killer = threading.Thread(target=kill_qemu_at, args=(5, tmp_path / "many" / "boot-0.log"))
    killer.start()
    captures = boot_many(request(tmp_path / "many"), given)
    killer.join()
    assert (tmp_path / "many" / "boot-1.log").is_file(), "the boot was not killed before its end"
    bad = [i for i, capture in enumerate(captures) if capture.ending.outcome is not Outcome.PASSED]
    # The kill may fall between two sets.
    assert len(bad) <= 1
    assert all(i >= 5 for i in bad)
    assert all(captures[i].ending.outcome is Outcome.CRASHED for i in bad)
    for i in set(range(64)) - set(bad):
        assert list(captures[i].output_bytes()) == list(whole[i].output_bytes())


def test_a_runner_of_one_run_a_boot_gets_a_boot_for_each_set(tmp_path: Path) -> None:
    given = sets(2)
    ours = boot_many(request(tmp_path / "ours"), given)
    arms = boot_many(replace(request(tmp_path / "arms"), runner="arm-executorch-u55"), given)
    assert [capture.ending.outcome for capture in arms] == [Outcome.PASSED] * 2
    assert not list((tmp_path / "arms").glob("boot-*.log"))
    assert [list(c.output_bytes()) for c in arms] == [list(c.output_bytes()) for c in ours]


def test_the_command_runs_many_sets_and_names_the_files_that_are_left_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for i, (data,) in enumerate(sets(3)):
        files.append(tmp_path / f"{i}.bin")
        files[-1].write_bytes(data)
    out = tmp_path / "out"
    command = ["run", str(ACOS), "--sets", "--provider", "emulator", "--runner", "corstone-300", "-o", str(out)]
    assert main([*command, "-i", *map(str, files), "--json", str(tmp_path / "r.json")]) == 0
    assert "3 of 3 sets ran in 1 boot:" in capsys.readouterr().out
    said = json.loads((tmp_path / "r.json").read_text())
    assert [(s["verdict"], Path(s["capture"]).name) for s in said["sets"]] == [("PASSED", f"set-{i}") for i in range(3)]
    assert len({(out / f"set-{i}" / "out-0.bin").read_bytes() for i in range(3)}) == 3
    assert len(list(out.glob("boot-*.log"))) == 1
    assert main(["run", str(ACOS), "--sets", "--provider", "emulator", "-o", str(out), "-i", *map(str, files)]) == 0
    assert "3 of 3 sets ran in 3 boots:" in capsys.readouterr().out, (
        "Arm's image, the default here, takes one run a boot"
    )
    files[1].write_bytes(b"short")
    assert main([*command, "-i", *map(str, files)]) == 2
    assert "1.bin" in capsys.readouterr().err
    assert main(command) == 2
    assert "0 files are no whole number of sets" in capsys.readouterr().err
