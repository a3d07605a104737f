"""The FVP's command line: options into a plain record, config files into settings.

Source: ``--help`` of a 2022 model and public command lines. Settings of ``-f`` files come before all ``-C``, which
therefore win. Leaves out what the options mean (``cli.py``, ``boot.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from corstone.causes import Cause
from corstone.emulator.image import read_file
from corstone.errors import ConfigError
from corstone.paths import user_path


@dataclass(frozen=True)
class DataFile:
    """``--data FILE@ADDR``, or ``--dump FILE@ADDR,SIZE`` with its size."""

    path: Path
    address: int
    size: int = -1


@dataclass
class Options:
    """What was asked. Times in seconds, None for no limit. The first ``from_files`` settings came from config files."""

    applications: list[Path] = field(default_factory=list)
    settings: list[tuple[str, str]] = field(default_factory=list)
    data: list[DataFile] = field(default_factory=list)
    dumps: list[DataFile] = field(default_factory=list)
    timelimit_s: float | None = None
    simlimit_s: float | None = None
    cpulimit_s: float | None = None
    cyclelimit: int | None = None
    trace: Path | None = None
    output: Path | None = None
    board: str = ""
    fvp: str = ""
    stat: bool = False
    quiet: bool = False
    action: str = ""
    from_files: int = 0


def _setting(options: Options, text: str) -> None:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise _usage(f"-C wants INSTANCE.PARAMETER=VALUE, not {text!r}")
    options.settings.append((name.strip(), value))


def _application(options: Options, text: str) -> None:
    instance, equals, file = text.partition("=")
    # A path may hold "="; an instance name holds no "/" and names the one CPU.
    if equals and instance.rstrip("*").rpartition(".")[2] in ("cpu0", "cpu_core"):
        text = file
    options.applications.append(user_path(text))


def _place(text: str, option: str) -> tuple[Path, str]:
    file, at, where = text.rpartition("@")
    if not at or not file:
        raise _usage(f"{option} wants FILE@ADDRESS, not {text!r}")
    instance, equals, rest = file.partition("=")
    if equals and instance.rstrip("*").rpartition(".")[2] in ("cpu0", "cpu_core"):
        file = rest
    return user_path(file), where


def _data(options: Options, text: str) -> None:
    path, where = _place(text, "--data")
    options.data.append(DataFile(path, _integer("--data", where)))


def _dump(options: Options, text: str) -> None:
    path, where = _place(text, "--dump")
    address, comma, size = where.partition(",")
    if not comma:
        raise _usage(f"--dump wants FILE@ADDRESS,SIZE, not {text!r}")
    options.dumps.append(DataFile(path, _integer("--dump", address), _integer("--dump", size)))


def _config(options: Options, text: str) -> None:
    path = user_path(text)
    found = []
    for number, line in enumerate(read_file(path, "config").decode(errors="replace").splitlines(), 1):
        line = _uncomment(line).strip()
        if not line:
            continue
        name, equals, value = line.partition("=")
        if not equals:
            raise _usage(f"{path}:{number}: expected INSTANCE.PARAMETER=VALUE, not {line!r}")
        found.append((name.strip(), value.strip()))
    options.settings[options.from_files : options.from_files] = found
    options.from_files += len(found)


def _uncomment(line: str) -> str:
    quote = ""
    for i, letter in enumerate(line):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "#":
            return line[:i]
    return line


def _limit(name: str) -> Callable[[Options, str], None]:
    def take(options: Options, text: str) -> None:
        try:
            value = float(text)
        except ValueError:
            value = -1
        if not 0 <= value < float("inf"):
            raise _usage(f"--{name} wants seconds, not {text!r}")
        setattr(options, f"{name}_s", value)

    return take


def _cycles(options: Options, text: str) -> None:
    options.cyclelimit = _integer("--cyclelimit", text)


def _text(name: str, convert: Callable[[str], object] = str) -> Callable[[Options, str], None]:
    return lambda options, text: setattr(options, name, convert(text))


# Options with a value, by every spelling.
_VALUES: dict[str, Callable[[Options, str], None]] = {
    "-a": _application,
    "--application": _application,
    "-C": _setting,
    "--parameter": _setting,
    "-f": _config,
    "--config-file": _config,
    "--data": _data,
    "--dump": _dump,
    "--timelimit": _limit("timelimit"),
    "--simlimit": _limit("simlimit"),
    "--cpulimit": _limit("cpulimit"),
    "--cyclelimit": _cycles,
    "--trace": _text("trace", Path),
    "-o": _text("output", Path),
    "--output": _text("output", Path),
    "--board": _text("board"),
    "--fvp": _text("fvp"),
    # Accepted for the FVP's sake: how often the simulator switches between components.
    "-Q": lambda _options, _text: None,
    "--quantum": lambda _options, _text: None,
}
_FLAGS: dict[str, Callable[[Options], None]] = {
    "--stat": lambda o: setattr(o, "stat", True),
    "-q": lambda o: setattr(o, "quiet", True),
    "--quiet": lambda o: setattr(o, "quiet", True),
    "--version": lambda o: setattr(o, "action", "version"),
    "-h": lambda o: setattr(o, "action", "help"),
    "--help": lambda o: setattr(o, "action", "help"),
    "-l": lambda o: setattr(o, "action", "list-params"),
    "--list-params": lambda o: setattr(o, "action", "list-params"),
    "--list-instances": lambda o: setattr(o, "action", "list-instances"),
}
# Known to the FVP, not to us: named, so that nobody waits for a debugger.
_REFUSED = {
    "-S": "a debug server", "--cadi-server": "a debug server",
    "-I": "the Iris server", "--iris-server": "the Iris server",
    "-p": "printing the Iris port", "--print-port-number": "printing the Iris port", "--plugin": "plug-ins",
    "-D": "debug plug-ins", "--allow-debug-plugin": "debug plug-ins", "-K": "keeping the console",
    "-R": "running without a debugger",
}  # fmt: skip

HELP = """\
usage: corstone-emulator [option]... [ELF]

Boots an Arm ELF on an emulated Corstone-300 or Corstone-320 with an Ethos-U NPU. It takes the command line of Arm's
FVPs; it is not an Arm product and no FVP.

  -a, --application [cpu0=]ELF    the image to boot; more than one may be given
  -C, --parameter NAME=VALUE      set a parameter (see --list-params)
  -f, --config-file FILE          parameters from a file, NAME=VALUE a line, # starts a comment; -C wins
      --data FILE@ADDRESS         put raw bytes into memory before the start
      --dump FILE@ADDRESS,SIZE    write memory to a file at the end
      --timelimit SECONDS         stop after that much time on the host's clock
      --cpulimit SECONDS          stop after that much CPU time on the host
      --simlimit SECONDS          stop after that much time of the board, during which its CPU ran
      --cyclelimit CYCLES         the same in cycles of core_clk
      --stat                      print statistics at the end
  -q, --quiet                     no banner
  -o, --output FILE               UART text and messages to a file as well
  -l, --list-params               all parameters with their values
      --list-instances            the components
      --version                   version and QEMU's version

Options of our own:
      --board NAME                corstone-300 or corstone-320; else from --fvp or the parameters' names
      --fvp NAME                  play that FVP: FVP_Corstone_SSE-300_Ethos-U55, FVP_Corstone_SSE-300_Ethos-U65,
                                  FVP_Corstone_SSE-320 (also by calling the program by that name)
      --trace FILE                the decoded command stream, one line a command

Exit status: the program's own with a semihosting exit, 0 after EOT or the shutdown tag, 2 wrong command line or image,
3 a host tool is missing, 4 the CPU faulted or locked up, 124 a limit was reached, 130 or 143 interrupted.
"""


def parse(arguments: Sequence[str]) -> Options:
    """Options of a command line without its program name.

    Raises
    ------
    ConfigError: an option is unknown, lacks its value, or has a bad one.
    """
    options = Options()
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if word in _FLAGS:
            _FLAGS[word](options)
        elif name in _VALUES:
            if not equals:
                if not rest:
                    raise _usage(f"{name} wants a value")
                value = rest.pop(0)
            _VALUES[name](options, value)
        elif word[:2] in _VALUES and not word.startswith("--"):
            _VALUES[word[:2]](options, word[2:])
        elif name in _REFUSED:
            raise _usage(f"{name}: {_REFUSED[name]} is for the FVP; the emulator has none")
        elif word.startswith("-") and word != "-":
            raise _usage(f"unknown option {word!r}")
        else:
            _application(options, word)
    return options


def _integer(option: str, text: str) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if value < 0:
        raise _usage(f"{option} wants a number, decimal or 0x, not {text!r}")
    return value


def _usage(message: str) -> ConfigError:
    return ConfigError(message, cause=Cause.CONFIGURATION, hint="see --help")
