"""The surfaces that `scripts/fuzz` throws broken input at; each is one class with ``run(rng)`` for one execution.

An execution ends in a word (counted), or in a ``Finding``: an exception nobody meant, a dead process, a late end.
Leaves out random networks against the reference model (``scripts/fuzz_differential``).
"""

from __future__ import annotations

import contextlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))

from tests.fakes.recordings import TRANSCRIPTS, replay  # noqa: E402 - found through the line above

from corstone.boards import BootRequest, boot  # noqa: E402
from corstone.boards.deadlines import Deadlines  # noqa: E402
from corstone.boards.endings import classify  # noqa: E402
from corstone.boards.transports.base import State  # noqa: E402
from corstone.causes import Outcome  # noqa: E402
from corstone.emulator.cli import choose  # noqa: E402
from corstone.emulator.npu import Limits, NpuError  # noqa: E402
from corstone.emulator.npu.fuzz.store import load  # noqa: E402
from corstone.emulator.npu.offline import run_delegate  # noqa: E402
from corstone.emulator.options import parse  # noqa: E402
from corstone.errors import HarnessError  # noqa: E402
from corstone.firmware.host_loader import HostLoader, build_host  # noqa: E402
from corstone.formats.pte import read_pte  # noqa: E402
from corstone.formats.vela import read_payload, read_vela  # noqa: E402
from corstone.pipeline import load_pte  # noqa: E402
from corstone.program import Program  # noqa: E402
from corstone.transcript import read_transcript  # noqa: E402

DEADLINE_S = 60
_WORDS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1)


@dataclass(frozen=True)
class Finding(Exception):
    """Something that must not happen, with the input that made it."""

    what: str
    data: bytes
    detail: str = ""


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Some bits, bytes, words and stretches changed, and now and then the length."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        if not out:
            break
        at = rng.randrange(len(out))
        match rng.randrange(6):
            case 0:
                out[at] ^= 1 << rng.randrange(8)
            case 1:
                out[at] = rng.randrange(256)
            case 2:
                source = rng.randrange(len(out))
                piece = bytes(out[source : source + rng.choice((2, 4, 8, 32))])
                out[at : at + len(piece)] = piece
            case 3:
                at &= ~3
                out[at : at + 4] = struct.pack("<I", rng.choice((*_WORDS, len(out), max(0, len(out) - 4))))
            case 4:
                del out[at : at + rng.choice((1, 4, 64))]
            case 5:
                out[at:at] = rng.randbytes(rng.choice((1, 4, 64)))
    return bytes(out[: rng.randrange(1, len(out) + 1)]) if out and rng.random() < 0.03 else bytes(out)


@contextlib.contextmanager
def bounded(data: bytes, seconds: int = DEADLINE_S) -> Iterator[None]:
    """Turn an unmeant exception, and a run that takes longer than ``seconds``, into a finding."""

    def late(*_: object) -> None:
        raise Finding(f"no end within {seconds} s", data)

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    except (Finding, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise Finding(f"{type(error).__name__}: {error}"[:200], data, traceback.format_exc()) from error
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def programs(extra: Path | None) -> list[Path]:
    """The seeds: the stored program, and every ``.pte`` below a folder of the user's."""
    found = [TOP / "tests" / "data" / "acos-int8-u55-128.pte"]
    return found + (sorted(extra.rglob("*.pte")) if extra else [])


class Loader:
    """Mutated ``.pte`` files through the harness's reader and through the firmware's loader, built with sanitizers."""

    def __init__(self, seeds: list[Path]) -> None:
        self.programs = [self._seed(path) for path in seeds]
        self.loader: HostLoader | None = None

    @staticmethod
    def _seed(path: Path) -> tuple[bytes, list[bytes], list[bytes]]:
        raw = path.read_bytes()
        file = read_pte(raw)
        canned = [
            bytes(t.size_bytes) for d in file.ethos_u for t in read_vela(d.data).outputs if hasattr(t, "size_bytes")
        ]
        return (
            raw,
            [bytes(range(256)) * (s.size_bytes // 256) + bytes(s.size_bytes % 256) for s in file.input_specs],
            canned,
        )

    def run(self, rng: random.Random) -> str:
        raw, inputs, canned = rng.choice(self.programs)
        data = mutated(raw, rng)
        with bounded(data):
            try:
                for delegate in read_pte(data).ethos_u:
                    read_vela(delegate.data)
                read = "read"
            except HarnessError:
                read = "refused"
            self.loader = self.loader or HostLoader(build_host()).__enter__()
            try:
                code = self.loader.run(data, inputs, canned, pool_bytes=1 << 20, step_limit=500).code
            except HarnessError:
                self.close()
                raise
        return f"{read}, loader {code}"

    def close(self) -> None:
        if self.loader is not None:
            self.loader.__exit__(None, None, None)
            self.loader = None


class Streams:
    """Mutated command streams and weights through the NPU model, in areas with nothing mapped around them."""

    def __init__(self) -> None:
        cases = load(TOP / "tests" / "data" / "npu" / "cases.npz")
        # The small half: more executions in the same time.
        self.cases = sorted(cases, key=lambda case: case.blob.scratch_size)[: len(cases) // 2]
        self.limits = Limits(work=20_000_000, branches=2_000, elements=1 << 20)

    def run(self, rng: random.Random) -> str:
        case = rng.choice(self.cases)
        stream, weights = case.blob.cmd_data, case.blob.weights
        if weights and rng.random() < 0.2:
            weights = mutated(weights, rng)
        else:
            stream = mutated(stream, rng)
        with bounded(stream):
            try:
                blob = replace(case.blob, cmd_data=stream, weights=weights, payload=read_payload(stream))
                run_delegate(blob, case.inputs, limits=self.limits)
            except NpuError as error:
                return error.kind
            except HarnessError:
                return "refused"
        return "ran"

    def close(self) -> None:
        """Nothing is held."""


class Consoles:
    """Mutated transcripts through the reader and the catalogue; with untouched outputs none may be green."""

    def __init__(self) -> None:
        self.logs = [path.read_bytes()[:16384] for path in sorted(TRANSCRIPTS.glob("*.log"))]
        self.facts = [replay(name)[0] for name in ("passes", "passes-semihosting", "firmware-passes")]

    def run(self, rng: random.Random) -> str:
        raw = mutated(rng.choice(self.logs), rng)
        facts = rng.choice(self.facts)
        untouched = rng.random() < 0.5
        state = State.UNTOUCHED if untouched else State.COMPLETE
        outputs = tuple(replace(o, state=state) for o in facts.outputs)
        with bounded(raw):
            ending, _ = classify(replace(facts, transcript=read_transcript(raw), outputs=outputs))
        if untouched and ending.outcome is Outcome.PASSED:
            raise Finding("green with untouched outputs", raw)
        return str(ending.outcome)

    def close(self) -> None:
        """Nothing is held."""


_LINES = (
    (
        "-a", "runner.elf", "--data", "p.pte@0x90000000", "-C", "mps3_board.uart0.out_file='-'", "-C",
        "ethosu.num_macs=64", "-C", "mps3_board.telnetterminal0.start_telnet=0", "--dump", "out.bin@0x93000000,256",
        "--timelimit", "2", "--stat", "-C", "cpu0.semihosting-enable=1", "-C", "cpu0.semihosting-cwd=x",
        "--cyclelimit=1000", "-q", "--fvp", "FVP_Corstone_SSE-300_Ethos-U55",
    ),
    (
        "-a", "cpu0*=r.elf", "-C", "mps4_board.subsystem.ethosu.num_macs=512", "-C", "mps4_board.uart0.out_file=-",
        "-C", "mps4_board.subsystem.cpu0.semihosting-enable=1", "-C", "mps4_board.uart0.shutdown_on_eot=1",
        "--timelimit", "2", "--fvp", "FVP_Corstone_SSE-320", "--simlimit", "3",
    ),
)  # fmt: skip


class CommandLines:
    """Mutated FVP command lines through the emulator's parser; one in 400 through the whole command."""

    def run(self, rng: random.Random) -> str:
        words = list(rng.choice(_LINES))
        for _ in range(rng.choice((1, 2, 3, 6))):
            at = rng.randrange(len(words))
            match rng.randrange(4):
                case 0:
                    words.pop(at)
                case 1:
                    words.insert(at, rng.choice(words))
                case _:
                    words[at] = mutated(words[at].encode("utf-8", "surrogateescape"), rng).decode(
                        "utf-8", "surrogateescape"
                    )
        words = [word.replace("\0", "") for word in words]  # no command line can hold one
        line = "\n".join(words).encode("utf-8", "surrogateescape")
        with bounded(line):
            try:
                choose(parse(words), "corstone-emulator")
                result = "parsed"
            except HarnessError as error:
                result = "refused" if str(error) else "refused without a word"
            if rng.random() < 1 / 400:
                result = self._whole([w for w in words if "dump" not in w and "@" not in w], line)
        return result

    @staticmethod
    def _whole(words: list[str], line: bytes) -> str:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            done = subprocess.run(
                [sys.executable, "-m", "corstone.emulator.cli", *words],
                cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE_S - 5, check=False,
            )  # fmt: skip
        if b"Traceback" in done.stderr or done.returncode < 0:
            raise Finding(
                f"the command ended with {done.returncode}", line, done.stderr.decode(errors="replace")[-2000:]
            )
        return f"command: status {done.returncode}"

    def close(self) -> None:
        """Nothing is held."""


class Boots:
    """Mutated ``.pte`` files booted on the emulator with our firmware, without the checks before the boot."""

    def __init__(self, seeds: list[Path]) -> None:
        self.seeds = [load_pte(path) for path in seeds]
        self.deadlines = Deadlines(start=20, progress=15, total=30)

    def run(self, rng: random.Random) -> str:
        seed = rng.choice(self.seeds)
        data = mutated(seed.pte.read_bytes(), rng)
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, bounded(data, 2 * DEADLINE_S):
            pte = Path(folder) / "program.pte"
            pte.write_bytes(data)
            request = BootRequest(
                Program(pte, seed.target, seed.inputs, seed.outputs),
                tuple(bytes(s.size_bytes) for s in seed.inputs),
                Path(folder) / "capture",
                provider="emulator",
                runner="corstone-320" if "u85" in seed.target else "corstone-300",
                deadlines=self.deadlines,
                preflight=False,
            )
            try:
                ending = boot(request).ending
            except HarnessError as error:
                return f"refused: {error.cause}"
        return f"{ending.outcome} {ending.cause}"

    def close(self) -> None:
        """Nothing is held."""


def surfaces(seeds: list[Path]) -> dict[str, tuple[float, Callable[[], Any]]]:
    """Share of the time, and maker, of each surface."""
    return {
        "loader": (0.25, lambda: Loader(seeds)),
        "streams": (0.25, Streams),
        "consoles": (0.1, Consoles),
        "command-lines": (0.1, CommandLines),
        "boots": (0.3, lambda: Boots(seeds)),
    }
