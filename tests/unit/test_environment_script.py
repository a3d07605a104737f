"""The set-up of ``scripts/run`` and ``scripts/test``: what it asks of apt, sudo and pip, and what it says before."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "lib" / "environment.sh"
NEEDED = ("bash", "dirname", "env", "sed", "cat")
WANT = 'ensure_command qemu-system-none "QEMU hosts the CPU" qemu-system-none'


class Machine:
    """A PATH with nothing but what a test puts there. Each stub writes the words it was called with into ``calls``."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.log = folder / "calls"
        self.venv = folder / "venv"
        self.bin.mkdir()
        self.log.touch()
        for name in NEEDED:
            (self.bin / name).symlink_to(str(shutil.which(name)))

    def stub(self, name: str, body: str = "", folder: Path | None = None) -> None:
        path = (folder or self.bin) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/bash\necho "{name} $*" >>"{self.log}"\n{body}\n')
        path.chmod(0o755)

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        words = [str(self.bin / "bash"), "-c", f'. "{SCRIPT}"; VENV="{self.venv}"; {line}']
        env = {"PATH": str(self.bin), "HOME": os.environ.get("HOME", "/")}
        return subprocess.run(words, env=env, capture_output=True, text=True, timeout=60, check=False)

    @property
    def calls(self) -> list[str]:
        return self.log.read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_root_installs_what_is_missing_and_is_told_why_before(machine: Machine) -> None:
    machine.stub("id", "echo 0")
    machine.stub("apt-get", "echo APT")
    done = machine.run(WANT)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert "QEMU hosts the CPU: apt-get install qemu-system-none" in said[0]
    assert "sudo" not in said[0]
    assert [call.split()[:2] for call in machine.calls if call.startswith("apt")] == [
        ["apt-get", "update"],
        ["apt-get", "install"],
    ]
    assert machine.calls[-1].endswith("--no-install-recommends qemu-system-none")


def test_somebody_else_goes_through_sudo_and_is_told_so(machine: Machine) -> None:
    machine.stub("id", "echo 1000")
    machine.stub("apt-get")
    machine.stub("sudo", '"$@"')
    done = machine.run(WANT)
    assert done.returncode == 0, done.stderr
    assert "(through sudo)" in done.stdout.splitlines()[0]
    assert sum(call.startswith("sudo ") for call in machine.calls) == 2


@pytest.mark.parametrize(
    ("stubs", "text"),
    [
        ({}, "there is no apt-get here. Install by hand: qemu-system-none"),
        ({"apt-get": "", "id": "echo 1000"}, "Ask an administrator for: apt-get install qemu-system-none"),
        ({"apt-get": "[ $1 = update ]", "id": "echo 0"}, "apt-get could not install: qemu-system-none"),
    ],
)
def test_what_cannot_be_installed_ends_it_with_the_command_to_type(
    machine: Machine, stubs: dict[str, str], text: str
) -> None:
    for name, body in stubs.items():
        machine.stub(name, body)
    done = machine.run(f"{WANT}; echo went on")
    assert done.returncode == 3
    assert text in done.stderr
    assert "went on" not in done.stdout


def test_package_lists_that_cannot_be_renewed_are_used_as_they_are(machine: Machine) -> None:
    machine.stub("id", "echo 0")
    machine.stub("apt-get", "[ $1 != update ]")
    done = machine.run(WANT)
    assert done.returncode == 0
    assert "trying with the package lists at hand" in done.stdout


def test_what_is_there_asks_nobody(machine: Machine) -> None:
    machine.stub("apt-get")
    machine.stub("qemu-system-none")
    assert machine.run(WANT).returncode == 0
    assert machine.calls == []


CPU_ONLY = 'case "$*" in "-c "*) exit 1;; *--index-url*) exit %d;; esac'


@pytest.mark.parametrize(("reached", "installs"), [(0, 1), (1, 2)])
def test_torch_comes_from_the_cpu_index_else_from_the_default(machine: Machine, reached: int, installs: int) -> None:
    machine.stub("python", CPU_ONLY % reached, machine.venv / "bin")
    done = machine.run("install_torch")
    assert done.returncode == 0, done.stderr
    asked = [call for call in machine.calls if " -m pip install" in call]
    assert len(asked) == installs
    assert "--no-deps" in asked[0]
    assert "/whl/cpu torch==" in asked[0]
    assert ("the CPU index was not reachable" in done.stdout) == bool(reached)
    assert all("--index-url" not in call for call in asked[1:])


def test_torch_of_the_right_version_is_left_alone(machine: Machine) -> None:
    machine.stub("python", "", machine.venv / "bin")
    assert machine.run("install_torch").returncode == 0
    assert len(machine.calls) == 1


def test_the_set_up_says_what_took_the_time_and_nothing_of_what_took_none(machine: Machine) -> None:
    machine.stub("corstone", "echo firmware 5.0 s", machine.venv / "bin")
    (machine.venv / "bin" / "activate").touch()
    line = "ensure_venv() { took venv true; took torch read -t 0.3 <> <(:) || true; }; ensure_command() { :; }"
    done = machine.run(f"{line}; environment firmware --vgf")
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()[-1]
    assert re.search(r"set-up: torch \d+\.\d s, firmware 5\.0 s$", said), said
    assert machine.calls == ["corstone setup --quiet --times --vgf"]


def test_a_set_up_that_had_nothing_to_do_says_nothing(machine: Machine) -> None:
    machine.stub("corstone", "", machine.venv / "bin")
    (machine.venv / "bin" / "activate").touch()
    done = machine.run("ensure_venv() { :; }; ensure_command() { :; }; environment firmware")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


def test_an_image_that_cannot_be_had_ends_the_set_up_with_the_commands_status(machine: Machine) -> None:
    machine.stub("corstone", "exit 3", machine.venv / "bin")
    (machine.venv / "bin" / "activate").touch()
    done = machine.run("ensure_venv() { :; }; ensure_command() { :; }; environment firmware; echo went on")
    assert done.returncode == 3
    assert "went on" not in done.stdout


def test_what_pip_has_downloaded_once_stays_in_its_cache() -> None:
    """A second checkout installs from pip's cache: nothing here turns it off or moves it."""
    scripts = [path for path in SCRIPT.parents[1].rglob("*") if path.is_file() and path.suffix in ("", ".sh")]
    assert SCRIPT in scripts
    words = ("--no-cache-dir", "PIP_NO_CACHE_DIR", "PIP_CACHE_DIR")
    assert [(path.name, word) for path in scripts for word in words if word in path.read_text()] == []
