"""Every ending as a case: ``CASES``."""

from tests.fakes.endings.case import Case
from tests.fakes.endings.faults import FAULTS
from tests.fakes.endings.finish import FINISH
from tests.fakes.endings.firmware import FIRMWARE
from tests.fakes.endings.launch import LAUNCH
from tests.fakes.endings.npu import NPU
from tests.fakes.endings.outputs import OUTPUTS
from tests.fakes.endings.program import PROGRAM
from tests.fakes.endings.simulator import SIMULATOR
from tests.fakes.endings.waiting import WAITING

CASES: tuple[Case, ...] = (*LAUNCH, *SIMULATOR, *PROGRAM, *FAULTS, *NPU, *WAITING, *OUTPUTS, *FINISH, *FIRMWARE)

__all__ = ["CASES", "Case"]
