"""QEMU as a child: found, started stopped, tied to this process, and gone when the context ends.

All channels are inherited file descriptors (socket pairs, pipes, anonymous files): no socket or file has a name, so
nothing can be left over or collide. The child is in its own process group, so a Ctrl-C at the terminal reaches only us,
and the kernel kills it when we die, kill -9 included (PR_SET_PDEATHSIG). Works with what QEMU 7.2 and 10.0 share; the
version is read from the greeting of the QMP channel, which costs no process.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from corstone.causes import Cause
from corstone.emulator import landlock
from corstone.emulator.gdb import GdbClient
from corstone.emulator.memory import SharedDdr
from corstone.emulator.qtest import QtestClient
from corstone.errors import ConfigError, ToolError
from corstone.paths import user_path

NAME = "qemu-system-arm"
ENVIRONMENT = "CORSTONE_QEMU"
HINT = (
    "install it (Debian, Ubuntu: apt-get install qemu-system-arm; Fedora: dnf install qemu-system-arm-core) "
    f"or name it in {ENVIRONMENT}"
)
OLDEST, NEWEST = (7, 0), (10, 99)
TESTED = "7.2 and 10.0"
_ANSWER_S = 60.0
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Blob:
    """Bytes that QEMU's loader puts at an address outside the shared DDR."""

    address: int
    data: bytes | memoryview


@dataclass(frozen=True)
class Setup:
    """What differs from boot to boot. ``sandbox`` denies the guest to start programs of the host (SYS_SYSTEM)."""

    blobs: Sequence[Blob] = ()
    semihosting: bool = False
    command_line: str = ""
    cwd: str = "."
    uart_input: bytes = b""
    sandbox: bool = True
    extra: Sequence[str] = field(default_factory=tuple)


def find_qemu(environ: Mapping[str, str] = os.environ) -> str:
    """Path of the program.

    Raises
    ------
    ToolError: it is not there.
    """
    wanted = environ.get(ENVIRONMENT) or NAME
    wanted = str(user_path(wanted))
    folders = [""] if os.sep in wanted else environ.get("PATH", os.defpath).split(os.pathsep)
    for folder in folders:
        path = os.path.join(folder, wanted)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise ToolError(
        f"{wanted} was not found; it hosts the CPU of the board", cause=Cause.MISSING_TOOL, hint=HINT
    )  # fmt: skip


def ask_version(path: str) -> str:
    """What ``--version`` says, for people who ask; boots read the QMP greeting instead.

    Raises
    ------
    ToolError: it does not run or gives no version.
    """
    import re
    import subprocess

    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(f"{path} --version did not answer: {error}", cause=Cause.LAUNCH) from error
    found = re.search(r"version (\d+\.\d+[\w.]*)", done.stdout)
    if found is None:
        raise ToolError(f"{path} --version gave no version: {done.stdout[:200]!r}", cause=Cause.LAUNCH)
    return found[1]


def check_version(version: tuple[int, int, int]) -> str:
    """A warning for a version nobody tried, "" for one that was.

    Raises
    ------
    ToolError: it is too old to work.
    """
    text = ".".join(map(str, version))
    if version[:2] < OLDEST:
        raise ToolError(
            f"QEMU {text} is too old: the emulator needs 7.0 or newer and is tested with {TESTED}",
            cause=Cause.MISSING_TOOL,
            hint="take QEMU of Debian 12 (7.2) or Debian 13 (10.0)",
        )
    if version[:2] not in ((7, 2), (10, 0)):
        return f"QEMU {text} is untested here (tested: {TESTED}); if the boot goes wrong, try one of those"
    return ""


class SandboxMissingError(ToolError):
    """QEMU cannot deny the guest to start host programs here."""


class UartEnd:
    """Our end of QEMU's UART: its output is read from ``fd``, ``pending`` is input not yet taken."""

    def __init__(self, fd: int, pending: bytes) -> None:
        self.fd = fd
        self.pending = memoryview(pending)
        self._has_input = bool(pending)

    def feed(self) -> bool:
        """Send as much input as fits; True while some is left."""
        try:
            while self.pending:
                self.pending = self.pending[os.write(self.fd, self.pending[:4096]) :]
        except BlockingIOError:
            return True
        except OSError:
            self.pending = memoryview(b"")
        return False

    def unread(self) -> bool:
        """Whether QEMU has yet to read some of what was sent."""
        if not self._has_input:
            return False
        left = array.array("i", [0])
        fcntl.ioctl(self.fd, termios.TIOCOUTQ, left)
        self._has_input = bool(left[0] or self.pending)
        return self._has_input


class Qemu:
    """A running machine. ``gdb``, ``qtest`` and ``uart`` are its channels; ``semihosting`` and ``log`` the read ends of
    what it prints there. All reads of the latter three are non-blocking.
    """

    def __init__(self, path: str, machine: str, setup: Setup, ddr: SharedDdr) -> None:
        self._path = path
        self._machine = machine
        self._setup = setup
        self.ddr = ddr
        self.pid = 0
        self._status: int | None = None
        self._open: list[int] = []
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> Qemu:
        # Descriptors for the child are created inheritable one by one, and closed here once it has them.
        child: list[int] = []
        try:
            gdb, gdb_child = self._pair(child)
            qtest, qtest_child = self._pair(child)
            self._qmp, qmp_child = self._pair(child)
            uart_chardev = self._uart(child)
            self.semihosting, semihosting_child = self._pipe(child)
            self.log, log_child = self._pipe(child)
            arguments = [
                self._path, "-S", *(("-sandbox", "on,spawn=deny") if self._setup.sandbox else ()),
                "-machine", f"{self._machine},memory-backend=ddr", "-m", "2G",
                "-object", f"memory-backend-file,id=ddr,size=2G,share=on,mem-path=/proc/self/fd/{self.ddr.fd}",
                "-display", "none", "-nodefaults", "-no-user-config", "-monitor", "none",
                "-chardev", f"socket,id=gdb0,fd={gdb_child}", "-gdb", "chardev:gdb0",
                "-chardev", f"socket,id=qtest0,fd={qtest_child}",
                "-object", "qtest,id=qtest,chardev=qtest0,log=/dev/null",
                "-chardev", f"socket,id=qmp0,fd={qmp_child}", "-mon", "chardev=qmp0,mode=control",
                "-chardev", uart_chardev, "-serial", "chardev:uart0",
                *self._semihosting_arguments(semihosting_child),
                *self._blob_arguments(child),
                *self._setup.extra,
            ]  # fmt: skip
            os.set_inheritable(self.ddr.fd, True)
            self.pid = _spawn(arguments, self._setup.cwd, semihosting_child, log_child)
        finally:
            for fd in child:
                os.close(fd)
            os.set_inheritable(self.ddr.fd, False)
        self.gdb = GdbClient(gdb, _ANSWER_S)
        self.qtest = QtestClient(qtest, _ANSWER_S)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.kill()
        for connection in self._sockets:
            connection.close()
        for fd in self._open:
            os.close(fd)

    def version(self) -> tuple[int, int, int]:
        """From the QMP greeting, which comes as soon as the machine exists.

        Raises
        ------
        ToolError: QEMU ended before, or greets in another way.
        """
        self._qmp.settimeout(_ANSWER_S)
        line = b""
        try:
            while not line.endswith(b"\n"):
                data = self._qmp.recv(4096)
                if not data:
                    raise EOFError
                line += data
            version = json.loads(line)["QMP"]["version"]["qemu"]
            return version["major"], version["minor"], version["micro"]
        except (OSError, EOFError, ValueError, KeyError) as error:
            words = self.last_words()
            kind = SandboxMissingError if self._setup.sandbox and _about_sandbox(words) else ToolError
            raise kind(
                "QEMU did not come up: " + (words or f"no greeting ({type(error).__name__})"),
                cause=Cause.LAUNCH,
                hint=f"try {self._path} -M mps3-an547 by hand; the emulator is tested with QEMU {TESTED}",
            ) from error

    def last_words(self) -> str:
        """What is left on its error output, once it has ended or closed its channels."""
        self.wait(2.0)
        with contextlib.suppress(OSError):
            return os.read(self.log, 65536).decode(errors="replace").strip()
        return ""

    def wait(self, seconds: float) -> int | None:
        """Status as of ``os.waitstatus_to_exitcode``; None while it still runs after that time."""
        deadline = time.monotonic() + seconds
        while self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
                break
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            fd = os.pidfd_open(self.pid)
            try:
                select.select([fd], [], [], left)
            finally:
                os.close(fd)
        return self._status

    def kill(self) -> None:
        """End it if it still runs, and reap it."""
        if self.pid and self._status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self.wait(30.0)

    def _semihosting_arguments(self, fd: int) -> list[str]:
        if not self._setup.semihosting:
            return []
        line = self._setup.command_line.replace(",", ",,")
        return [
            "-chardev", _file("semi0", fd),
            "-semihosting-config", f"enable=on,target=native,chardev=semi0,arg={line}",
        ]  # fmt: skip

    def _blob_arguments(self, child: list[int]) -> list[str]:
        arguments: list[str] = []
        for blob in self._setup.blobs:
            fd = os.memfd_create("corstone-blob", 0)
            child.append(fd)
            view = memoryview(blob.data)
            while view:
                view = view[os.write(fd, view) :]
            arguments += ["-device", f"loader,file=/proc/self/fd/{fd},addr={blob.address:#x},force-raw=on"]
        return arguments

    def _pair(self, child: list[int]) -> tuple[socket.socket, int]:
        ours, theirs = socket.socketpair()
        self._sockets.append(ours)
        fd = theirs.detach()
        os.set_inheritable(fd, True)
        child.append(fd)
        return ours, fd

    def _uart(self, child: list[int]) -> str:
        """A pipe for output alone: unlike a socket it packs bytes densely, so that the guest need not wait for us."""
        if not self._setup.uart_input:
            read, write = self._pipe(child)
            self.uart = UartEnd(read, b"")
            return _file("uart0", write)
        ours, theirs = self._pair(child)
        ours.setblocking(False)
        self.uart = UartEnd(ours.fileno(), self._setup.uart_input)
        return f"socket,id=uart0,fd={theirs}"

    def _pipe(self, child: list[int]) -> tuple[int, int]:
        read, write = os.pipe()
        os.set_blocking(read, False)
        self._open.append(read)
        os.set_inheritable(write, True)
        child.append(write)
        return read, write


def _about_sandbox(words: str) -> bool:
    """Whether QEMU's last words are about its sandbox."""
    return "sandbox" in words.lower() or "seccomp" in words.lower()


def _file(name: str, fd: int) -> str:
    return f"file,id={name},path=/proc/self/fd/{fd}"


def _spawn(arguments: Sequence[str], cwd: str, output: int, log: int) -> int:
    """Fork and exec. Called while this process has one thread, as the command line has.

    The guest's ``:tt`` reads our standard input, unless that is a terminal: reading one from another process group
    would stop QEMU. Files that the guest opens through semihosting are QEMU's to open: where the kernel can hold it to
    that, it changes files below ``cwd`` only.
    """
    libc = ctypes.CDLL(None)
    parent = os.getpid()
    if not os.path.isdir(cwd):
        raise ConfigError(f"the semihosting folder {cwd!r} is not there", cause=Cause.CONFIGURATION)
    pid = os.fork()
    if pid:
        return pid
    try:  # the child; any exception must end here
        os.setpgid(0, 0)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(127)
        if os.isatty(0):
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(log, 2)
        os.chdir(cwd)
        landlock.write_only_below(".")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.execv(arguments[0], list(arguments))
    except OSError as error:
        os.write(2, f"cannot run {arguments[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)
