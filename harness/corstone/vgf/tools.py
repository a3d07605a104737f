"""The VGF tools: three wheels, taken without their dependencies, each file hash checked by pip.

Versions: 0.9.0 is the newest converter for glibc 2.36 (Debian 12); the runner and the layers follow it. The layers must
be stacked graph above tensor. The Vulkan loader orders layers by folder, not by ``VK_INSTANCE_LAYERS`` (measured with
loader 1.3.239), so each manifest gets a folder of its own. Leaves out running (``corstone.vgf.graph``).
"""

from __future__ import annotations

import ctypes.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from corstone.causes import Cause
from corstone.errors import ToolError
from corstone.paths import cache_dir

VERSION = "0.9.0"
_DEADLINE_S = 600

# distribution -> sha256 of its wheels for x86_64 and aarch64
_WHEELS = {
    "ai-ml-sdk-model-converter": (
        "db918fc45b9a80f423ff35d6efb4ce851cdf7e5a430e15bafd9989129a1006a2",
        "e6f5b624a367aa91c01504c1c378041a38c0fd64ce469d65659c0fe413d8c66b",
    ),
    "ai-ml-emulation-layer-for-vulkan": (
        "1998f7ea993376d73adf1e58990f4dc518774ee98c07bce2d108ef790a0b41bc",
        "a3d858abaedb5a606dfd0bcf9874972e0b9d2c676caba8005c6149551961f1e5",
    ),
    "ai-ml-sdk-scenario-runner": (
        "ca45029f5569dc29552e84678dad5a2d7e22631b0d3181c276fee97937d10f62",
        "c392ca968621f76383130a7512df7ec2a7bf45a96410bea9faface59a3b88cb5",
    ),
}

_LAYERS = ("Graph", "Tensor")
APT_PACKAGES = ("mesa-vulkan-drivers", "libvulkan1")


@dataclass(frozen=True)
class VgfTools:
    """Installed tools. ``environment`` is what a scenario runner process needs beside the usual variables."""

    converter: Path
    runner: Path
    environment: dict[str, str]
    version: str = VERSION


def _folder(cache: Path | None) -> Path:
    return (cache or cache_dir()) / "vgf" / VERSION


def find_tools(cache: Path | None = None) -> VgfTools:
    """The tools in the cache.

    Raises
    ------
    ToolError: not fetched yet, or no Vulkan loader on this machine; the hint says what to do.
    """
    root = _folder(cache)
    converter = root / "model_converter/binaries/bin/model-converter"
    runner = root / "scenario_runner/binaries/bin/scenario-runner"
    if not (converter.is_file() and runner.is_file() and (root / "layers").is_dir()):
        raise ToolError(
            f"the VGF tools {VERSION} are not in {root}",
            cause=Cause.MISSING_TOOL,
            hint="run 'corstone setup --vgf' (45 MB from the package index)",
        )
    if ctypes.util.find_library("vulkan") is None:
        raise ToolError(
            "there is no Vulkan loader (libvulkan.so.1) on this machine",
            cause=Cause.MISSING_TOOL,
            hint="apt-get install --no-install-recommends " + " ".join(APT_PACKAGES),
        )
    environment = {
        "VK_LAYER_PATH": os.pathsep.join(str(root / "layers" / kind) for kind in _LAYERS),
        "VK_INSTANCE_LAYERS": ":".join(f"VK_LAYER_ML_{kind}_Emulation" for kind in _LAYERS),
        "LD_LIBRARY_PATH": str(root / "emulation_layer/deploy/lib"),
    }
    return VgfTools(converter, runner, environment)


def fetch_tools(cache: Path | None = None, say: Callable[[str], None] = print) -> VgfTools:
    """Fetch the wheels into the cache, unless they are there already.

    Raises
    ------
    ToolError: the wheels cannot be had or have other hashes, or there is no Vulkan loader.
    """
    root = _folder(cache)
    if not (root / "layers").is_dir():
        say(f"fetching the VGF tools {VERSION}")
        root.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root.parent) as scratch:
            new = Path(scratch) / "new"
            _install(new, Path(scratch))
            _write_layers(new, root)
            try:
                new.rename(root)  # one rename: a reader sees all of it or nothing
            except OSError as error:
                if not (root / "layers").is_dir():
                    raise ToolError(f"cannot write {root}: {error}", cause=Cause.CACHE) from error
    return find_tools(cache)


def _install(target: Path, scratch: Path) -> None:
    requirements = scratch / "requirements.txt"
    requirements.write_text(
        "".join(
            f"{name}=={VERSION} " + " ".join(f"--hash=sha256:{digest}" for digest in digests) + "\n"
            for name, digests in _WHEELS.items()
        )
    )
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--require-hashes", "--only-binary", ":all:", "--target", str(target), "-r", str(requirements)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_DEADLINE_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"pip did not fetch the VGF tools within {_DEADLINE_S} s", cause=Cause.DOWNLOAD) from error
    if done.returncode:
        raise ToolError(
            "the VGF tools cannot be had: " + "; ".join(done.stderr.strip().splitlines()[-2:]),
            cause=Cause.DOWNLOAD,
            hint="connect to a package index, or copy the 'vgf' folder of another machine's cache",
        )
    for program in target.glob("*/binaries/bin/*"):
        program.chmod(0o755)


def _write_layers(new: Path, root: Path) -> None:
    deploy = Path("emulation_layer/deploy")
    for kind in _LAYERS:
        manifest = json.loads((new / deploy / f"share/vulkan/explicit_layer.d/VkLayer_{kind}.json").read_text())
        manifest["layer"]["library_path"] = str(root / deploy / f"lib/libVkLayer_{kind}.so")
        folder = new / "layers" / kind
        folder.mkdir(parents=True)
        (folder / f"VkLayer_{kind}.json").write_text(json.dumps(manifest))
