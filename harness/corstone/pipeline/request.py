"""One case as it is asked for: its name, its folder's name, and the command that runs it again."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corstone.paths import file_name, user_path
from corstone.targets import HOST_BOARD, HOST_TARGETS

REFERENCES = ("table", "tosa", "float", "fake-quantized")


@dataclass(frozen=True)
class CheckRequest:
    """One case.

    Parameters
    ----------
    network: registered name, ``module:attribute``, ``path.py:attribute``, or ``path.pt2``.
    stimulus: name of the inputs (``corstone_models.stimuli``); ``given`` takes ``inputs`` as they are,
        ``example`` those that the network was exported on.
    inputs: example inputs of a network that is not registered; they also fix its shapes.
    shapes: instead of ``inputs``, shapes of float32 inputs.
    calibration: file of input sets for the observers (``pipeline.calibration``); None: the network's own.
    out: folder of the run; the case gets ``<out>/cases/<case id>``.
    references: of table, tosa, vgf, float, fake-quantized.
    timeout_s: whole boot, seconds; None takes the provider's default.
    label: name in reports instead of the network's own.
    target: an NPU, or a host target (``corstone.targets.HOST_TARGETS``), which needs no board and counts as no device.
    """

    network: str
    bits: int = 8
    policy: str = "fixed"
    target: str = "ethos-u55-128"
    board: str | None = None
    provider: str = "auto"
    fvp_dir: Path | None = None
    require_fvp: bool = False
    runner: str | None = None
    runner_elf: Path | None = None
    stimulus: str = "codes"
    seed: int = 0
    inputs: tuple[Any, ...] = ()
    input_files: tuple[Path, ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ()
    calibration: Path | None = None
    out: Path = Path("corstone-out")
    references: tuple[str, ...] = REFERENCES
    timeout_s: float | None = None
    trace: bool = False
    label: str = ""

    def __post_init__(self) -> None:
        """Paths may be given as text; ``~`` counts there as on a command line."""
        for field in ("out", "fvp_dir", "runner_elf", "calibration"):
            value = getattr(self, field)
            if isinstance(value, str):
                object.__setattr__(self, field, user_path(value))

    @property
    def name(self) -> str:
        """What reports call the network."""
        return self.label or Path(self.network).name.replace(":", "-")

    @property
    def plain(self) -> bool:
        """A host target that runs the float graph, whatever bits and policy say."""
        host = HOST_TARGETS.get(self.target)
        return host is not None and not host.quantized

    @property
    def inputs_by(self) -> str:
        """The stimulus; a float graph has no codes and gets a ramp over its domain instead."""
        return "ramp" if self.plain and self.stimulus == "codes" else self.stimulus

    @property
    def case_id(self) -> str:
        """Stable over versions, usable as a folder name."""
        board = board_name(self.target, self.board)
        width = ["float"] if self.plain else [f"int{self.bits}", self.policy]
        parts = [self.name, *width, self.target, board, self.inputs_by]
        return file_name("-".join(part for part in parts if part))

    def repro(self, capture: Path | None) -> str:
        """The command that runs this case again; given inputs are those that its ``capture`` folder keeps."""
        words = ["corstone", "check", self.network, "--bits", str(self.bits), "--policy", self.policy]
        words += ["--target", self.target]
        if self.stimulus != "given":
            words += ["--stimulus", self.stimulus]
        elif self.inputs and capture is not None:
            words += [word for i in range(len(self.inputs)) for word in ("-i", str(capture / f"in-{i}.bin"))]
        words += [word for file in self.input_files for word in ("-i", str(file))]
        for shape in self.shapes:
            words += ["--shape", ",".join(map(str, shape))]
        if self.calibration is not None:
            words += ["--calibration", str(self.calibration)]
        return shlex.join(words)


def board_name(target: str, wanted: str | None = None) -> str:
    if target in HOST_TARGETS:
        return HOST_BOARD
    from corstone.boards import board_for_target

    return wanted or board_for_target(target, None).name
