"""A simulator that follows a script: plays an FVP, or our emulator, in tests of what comes before and after it.

Started as ``fake_fvp.py SCENARIO.json ARGUMENTS...``; the arguments are an FVP's. The scenario is a JSON object:

``version``       text printed for ``--version`` (and ``version_status``); without it a plausible FVP banner
``steps``         list of [name, argument]; see the functions named ``step_*`` below

Every step sees the boot's arguments: ``{inputs}`` and ``{outputs}`` in texts are the bytes sent and asked for.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

GUARD = 64
BANNER = """telnetterminal0: Listening for serial connection on port 5000
telnetterminal1: Listening for serial connection on port 5001
telnetterminal2: Listening for serial connection on port 5002
telnetterminal5: Listening for serial connection on port 5003

    Ethos-U rev 136b7d75 --- Apr 12 2023 13:44:01
    (C) COPYRIGHT 2019-2023 Arm Limited
    ALL RIGHTS RESERVED

"""
VERSION = """
Fast Models [11.27.42 (Aug 19 2024)]
Copyright 2000-2024 ARM Limited.
All Rights Reserved.

"""


class Boot:
    """The arguments of this boot, as far as the steps need them."""

    def __init__(self, arguments: list[str]) -> None:
        self.arguments = arguments
        self.parameters: dict[str, str] = {}
        self.data: list[tuple[str, int]] = []
        self.dumps: list[tuple[str, int, int]] = []
        words = iter(arguments)
        for word in words:
            if word in {"-C", "--parameter"}:
                name, _, value = next(words).partition("=")
                self.parameters[name] = value
            elif word == "--data":
                file, _, address = next(words).rpartition("@")
                self.data.append((file, int(address, 0)))
            elif word == "--dump":
                file, _, rest = next(words).rpartition("@")
                start, _, size = rest.partition(",")
                self.dumps.append((file, int(start, 0), int(size, 0)))

    @property
    def input_files(self) -> list[str]:
        return [file for file, _ in self.data if file.startswith("inputs")]

    def line(self) -> list[str]:
        """The semihosting command line, an argument file opened."""
        text = next((v for k, v in self.parameters.items() if k.endswith("semihosting-cmd_line")), "")
        words = text.split()
        if len(words) == 2 and words[1].startswith("@"):
            return [words[0], *(self.folder() / words[1][1:]).read_text().split()]
        return words

    def folder(self) -> Path:
        return Path(next((v for k, v in self.parameters.items() if k.endswith("semihosting-cwd")), "."))

    def facts(self) -> dict[str, int]:
        inputs = sum(Path(file).stat().st_size for file in self.input_files)
        return {
            "inputs": inputs,
            "outputs": sum(size for _, _, size in self.dumps) - GUARD * len(self.dumps),
            "tensors": len(self.input_files),
        }

    def memory(self, address: int, size: int) -> bytearray:
        """Memory as the --data files left it."""
        found = bytearray(size)
        for file, start in self.data:
            content = Path(file).read_bytes()
            low, high = max(address, start), min(address + size, start + len(content))
            if low < high:
                found[low - address : high - address] = content[low - start : high - start]
        return found


def step_print(boot: Boot, text: str) -> None:
    facts = boot.facts()
    for name, value in facts.items():
        text = text.replace("{" + name + "}", str(value))
    sys.stdout.write(text)
    sys.stdout.flush()


def step_error(boot: Boot, text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def step_bytes(boot: Boot, text: str) -> None:
    sys.stdout.flush()
    os.write(1, bytes.fromhex(text))


def step_banner(boot: Boot, _: Any) -> None:
    step_print(boot, BANNER)


def step_sleep(boot: Boot, seconds: float) -> None:
    time.sleep(seconds)


def step_spin(boot: Boot, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def step_ignore(boot: Boot, names: list[str]) -> None:
    for name in names:
        signal.signal(getattr(signal, name), signal.SIG_IGN)


def step_handle(boot: Boot, spec: dict[str, Any]) -> None:
    """On a signal run steps, then go on or exit as they say."""

    def handler(_number: int, _frame: object) -> None:
        run(boot, spec["steps"])

    signal.signal(getattr(signal, spec["signal"]), handler)


def step_fork(boot: Boot, spec: dict[str, Any]) -> None:
    """A child that holds the terminal: in the same session, or in one of its own."""
    code = "import signal,time\n"
    code += "".join(f"signal.signal(signal.{name}, signal.SIG_IGN)\n" for name in spec.get("ignore", []))
    code += f"time.sleep({spec.get('seconds', 60)})"
    subprocess.Popen([sys.executable, "-S", "-E", "-c", code], start_new_session=spec.get("own_session", False))


def step_repeat(boot: Boot, spec: dict[str, Any]) -> None:
    for _ in range(spec["times"]):
        run(boot, spec["steps"])


def step_reject(boot: Boot, spec: dict[str, str]) -> None:
    """Refuse a parameter by name as an FVP might; the text is assumed, no public log shows it."""
    if spec["name"] in boot.parameters:
        step_error(boot, spec.get("text", "Error: unknown parameter: '{}'\n").format(spec["name"]))
        raise SystemExit(spec.get("status", 1))


def step_need_library(boot: Boot, spec: dict[str, Any]) -> None:
    if spec["folder"] not in os.environ.get("LD_LIBRARY_PATH", ""):
        step_error(
            boot,
            "FVP: error while loading shared libraries: libpython3.9.so.1.0: cannot open shared object file: "
            "No such file or directory\n",
        )
        raise SystemExit(127)


def step_dump(boot: Boot, spec: dict[str, Any]) -> None:
    """Write the --dump files: memory with the outputs changed as told.

    ``fill``: every output byte inverted (all of it, or the first ``bytes``), so that nothing equals what was there;
    ``beyond``: bytes after the end changed too; ``cut``: the file ends after so many bytes; ``none``: untouched.
    """
    for file, address, size in boot.dumps:
        memory = boot.memory(address, size)
        count = size - GUARD if "bytes" not in spec else int(spec["bytes"])
        for index in range(count if not spec.get("none") else 0):
            memory[index] ^= 0xFF
        for index in range(spec.get("beyond", 0)):
            memory[size - GUARD + index] ^= 0xFF
        if "value" in spec:
            memory[: size - GUARD] = bytes([spec["value"]]) * (size - GUARD)
        content = bytes(memory)[: spec.get("cut", size)]
        Path(file).write_bytes(content)


def step_write(boot: Boot, spec: dict[str, Any]) -> None:
    """Write a file into the semihosting folder; ``age`` seconds old when given."""
    path = boot.folder() / spec["name"]
    path.write_bytes(bytes([spec.get("value", 1)]) * spec["size"])
    if "age" in spec:
        stamp = time.time() - spec["age"]
        os.utime(path, (stamp, stamp))


def step_link(boot: Boot, spec: dict[str, Any]) -> None:
    (boot.folder() / spec["name"]).symlink_to(spec["to"])


def step_fifo(boot: Boot, name: str) -> None:
    os.mkfifo(boot.folder() / name)


def step_folder(boot: Boot, name: str) -> None:
    (boot.folder() / name).mkdir()


def step_exit(boot: Boot, status: int) -> None:
    sys.stdout.flush()
    raise SystemExit(status)


def step_kill(boot: Boot, name: str) -> None:
    sys.stdout.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), getattr(signal, name))


def step_hang(boot: Boot, _: Any) -> None:
    while True:
        time.sleep(3600)


def step_show(boot: Boot, _: Any) -> None:
    """Print what came: the test's way to see arguments and environment."""
    step_print(boot, json.dumps({"arguments": boot.arguments, "line": boot.line(), "cwd": os.getcwd()}) + "\n")


def run(boot: Boot, steps: list[list[Any]]) -> None:
    for name, argument in steps:
        globals()[f"step_{name}"](boot, argument)


def main() -> None:
    scenario = json.loads(Path(sys.argv[1]).read_text())
    arguments = sys.argv[2:]
    # Python turns SIGINT into an exception with a traceback; a simulator just ends.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if "--version" in arguments:
        probe = scenario.get("probe")
        if probe is not None:
            run(Boot([]), probe)
        sys.stdout.write(scenario.get("version", VERSION))
        raise SystemExit(scenario.get("version_status", 0))
    run(Boot(arguments), scenario["steps"])


if __name__ == "__main__":
    main()
