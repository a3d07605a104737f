"""The runner's loader and kernels as a host process: thousands of programs a second, with sanitizers, no board.

``build_host`` compiles ``host/server.c`` with the same sources as the device (by ``cc`` with AddressSanitizer and
UndefinedBehaviourSanitizer where it has them, else by the ``ziglang`` wheel with the latter). ``HostLoader`` sends it
programs; the NPU is played by canned delegate outputs. For tests and fuzzing only: nothing here judges a device.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from filelock import FileLock

from corstone.causes import Cause
from corstone.errors import DeadlineExceeded, DeviceFault, ToolError
from corstone.firmware.build import ROOT, TIMEOUT_S, zig_environment
from corstone.paths import cache_dir

# What touches hardware, and the pool, which the host has its own of.
_DEVICE = {
    "arena.c", "args.c", "console.c", "ethosu.c", "faults.c", "inject.c", "main.c", "memory.c", "run.c",
    "semihosting.c", "startup.c", "transport_files.c", "transport_memory.c", "uart.c",
}  # fmt: skip
_FLAGS = ("-std=c11", "-O1", "-Iinclude", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off")
_SANITIZERS = (("-fsanitize=address,undefined", "-fno-sanitize-recover=all"), ("-fsanitize=undefined",), ())


@dataclass(frozen=True)
class HostTensor:
    """An output: ExecuTorch's scalar type number (255 when it is no tensor), sizes, bytes."""

    dtype: int
    shape: tuple[int, ...]
    data: bytes


@dataclass(frozen=True)
class HostResult:
    """What one program did: the runner's code and text, delegate inputs as they lay in scratch, and outputs."""

    code: int
    text: str
    delegate_inputs: tuple[bytes, ...]
    outputs: tuple[HostTensor, ...]


def build_host(cache: Path | None = None, root: Path = ROOT) -> Path:
    """The server's executable, built when the cache does not hold it.

    Raises
    ------
    ToolError: no compiler on this machine builds it.
    """
    files = [path for path in sorted((root / "src").glob("*.c")) if path.name not in _DEVICE]
    files += sorted((root / "host").glob("*.c"))
    digest = hashlib.sha256(repr((_FLAGS, _SANITIZERS, sys.platform, shutil.which("cc"))).encode())
    for path in (*files, *sorted((root / "include").glob("*.h"))):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    folder = (cache or cache_dir()) / "firmware"
    target = folder / f"host-{digest.hexdigest()[:24]}"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "host.lock", timeout=2 * TIMEOUT_S):
        if not target.exists():
            _compile([path.relative_to(root).as_posix() for path in files], target, root)
    return target


def _compile(names: list[str], target: Path, root: Path) -> None:
    compilers: list[list[str]] = [["cc"]] if shutil.which("cc") else []
    if importlib.util.find_spec("ziglang") is not None:
        compilers.append([sys.executable, "-m", "ziglang", "cc"])
    said = "there is neither cc nor the ziglang wheel"
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="build-") as work:
        made = Path(work) / "host"
        for compiler in compilers:
            for sanitizers in _SANITIZERS:
                argv = [*compiler, *_FLAGS, *sanitizers, *names, "-o", str(made), "-lm"]
                done = subprocess.run(
                    argv,
                    cwd=root,
                    capture_output=True,
                    text=True,
                    timeout=TIMEOUT_S,
                    check=False,
                    env=zig_environment(target.parent),
                )
                if done.returncode == 0:
                    made.replace(target)
                    return
                said = done.stderr[-2000:]
    raise ToolError(
        "the runner's loader does not compile for this host",
        cause=Cause.MISSING_TOOL,
        hint="install a C compiler, or pip install 'corstone-harness[firmware]'",
        evidence={"compiler says": said},
    )


class HostLoader:
    """The server as a context manager. One request at a time."""

    def __init__(self, executable: Path, *, timeout_s: float = 30.0) -> None:
        self._timeout_s = timeout_s
        environment = os.environ | {"ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:exitcode=99"}
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process, closed with it
        self._process = subprocess.Popen(
            [str(executable)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            start_new_session=True,
        )

    def __enter__(self) -> HostLoader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):  # it died with a request half sent; the read said so
            self._process.stdin.close()
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def run(
        self,
        program: bytes,
        inputs: Sequence[bytes] = (),
        canned: Sequence[bytes] = (),
        *,
        pool_bytes: int = 64 << 20,
        step_limit: int = 100_000,
    ) -> HostResult:
        """Load and run a program; ``canned`` are the delegates' outputs in call order.

        Raises
        ------
        DeviceFault: the process died, as it does on undefined behaviour; the evidence has the sanitizer's words.
        DeadlineExceeded: no answer in time.
        """
        parts = [struct.pack("<5I", pool_bytes, step_limit, len(program), len(inputs), len(canned)), program]
        for blob in (*inputs, *canned):
            parts += [struct.pack("<I", len(blob)), blob]
        deadline = time.monotonic() + self._timeout_s
        self._send(b"".join(parts), deadline)
        code = self._word(deadline)
        text = self._blob(deadline).decode("latin-1")
        seen = tuple(self._blob(deadline) for _ in range(self._word(deadline)))
        outputs = tuple(self._tensor(deadline) for _ in range(self._word(deadline)))
        return HostResult(code, text, seen, outputs)

    def _tensor(self, deadline: float) -> HostTensor:
        dtype, rank = self._word(deadline), self._word(deadline)
        shape = tuple(self._word(deadline) for _ in range(rank))
        return HostTensor(dtype, shape, self._blob(deadline))

    def _word(self, deadline: float) -> int:
        return int.from_bytes(self._read(4, deadline), "little")

    def _blob(self, deadline: float) -> bytes:
        return self._read(self._word(deadline), deadline)

    def _send(self, data: bytes, deadline: float) -> None:
        assert self._process.stdin is not None
        fd = self._process.stdin.fileno()
        os.set_blocking(fd, False)
        view = memoryview(data)
        while view:
            _, writable, _ = select.select([], [fd], [], max(0.0, deadline - time.monotonic()))
            if not writable:
                raise self._late()
            try:
                view = view[os.write(fd, view) :]
            except BrokenPipeError:
                raise self._died() from None

    def _read(self, size: int, deadline: float) -> bytes:
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        got = bytearray()
        while len(got) < size:
            readable, _, _ = select.select([fd], [], [], max(0.0, deadline - time.monotonic()))
            if not readable:
                raise self._late()
            piece = os.read(fd, size - len(got))
            if not piece:
                raise self._died()
            got += piece
        return bytes(got)

    def _late(self) -> DeadlineExceeded:
        return DeadlineExceeded(f"the runner's loader on the host gave no answer within {self._timeout_s} s")

    def _died(self) -> DeviceFault:
        status = self._process.wait(10.0)
        self._errors.seek(0)
        return DeviceFault(
            f"the runner's loader on the host died with status {status}",
            evidence={"it said": self._errors.read()[-4000:].decode("utf-8", "replace")},
        )
