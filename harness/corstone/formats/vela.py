"""What ExecuTorch stores for an Ethos-U delegate: ``vela_bin_stream`` blocks and the driver payload inside them.

Block layout: executorch/backends/arm/arm_vela.py and runtime/VelaBinStream.h. Payload ("COP1"): ethos-u-vela
driver_actions.py and hal_ethos_u ethosu_driver.c. Leaves out the command stream itself (``corstone.emulator.npu``).
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.formats.pte import PteFile
from corstone.targets import Target, from_config

_ACTION_CONFIG, _ACTION_STREAM, _ACTION_NOP = 1, 2, 5


@dataclass(frozen=True)
class VelaTensor:
    """One input or output of a delegate: ``shape`` has six dimensions, ``offset`` counts bytes in ``region``."""

    shape: tuple[int, ...]
    elem_size: int
    offset: int
    region: int

    @property
    def size_bytes(self) -> int:
        """Bytes in memory."""
        return math.prod(self.shape) * self.elem_size


@dataclass(frozen=True)
class Payload:
    """A COP1 driver payload: CONFIG and ID that the stream was compiled for, and the stream's bytes.

    ``offset`` is the stream's byte offset in the payload (16-byte aligned in everything Vela writes).
    """

    config: int
    id: int
    stream: bytes
    offset: int

    @property
    def target(self) -> Target | None:
        """The target of CONFIG, None when unknown."""
        return from_config(self.config)


@dataclass(frozen=True)
class VelaBlob:
    """A delegate. Regions: 0 ``weights``, 1 scratch of ``scratch_size`` bytes, 2 fast scratch."""

    cmd_data: bytes
    weights: bytes
    scratch_size: int
    inputs: tuple[VelaTensor, ...]
    outputs: tuple[VelaTensor, ...]
    payload: Payload


def _bad(what: str) -> ConfigError:
    return ConfigError(
        f"not a usable Ethos-U delegate: {what}",
        cause=Cause.BAD_PROGRAM,
        hint="compile the program again with the Vela version that this environment pins",
    )


def read_vela(data: bytes) -> VelaBlob:
    """Read the processed bytes of one ``EthosUBackend`` delegate.

    Raises
    ------
    ConfigError: the blocks or the payload are cut or corrupt (cause ``bad-program``).
    """
    blocks = _blocks(data)
    for name in ("cmd_data", "weight_data", "scratch_size", "inputs", "outputs"):
        if name not in blocks:
            raise _bad(f"the block {name!r} is missing; found {', '.join(blocks) or 'none'}")
    if len(blocks["scratch_size"]) < 4:
        raise _bad("the block 'scratch_size' is shorter than 4 bytes")
    return VelaBlob(
        cmd_data=blocks["cmd_data"],
        weights=blocks["weight_data"],
        scratch_size=struct.unpack_from("<I", blocks["scratch_size"])[0],
        inputs=_tensors(blocks["inputs"], "inputs"),
        outputs=_tensors(blocks["outputs"], "outputs"),
        payload=read_payload(blocks["cmd_data"]),
    )


def _blocks(data: bytes) -> dict[str, bytes]:
    blocks: dict[str, bytes] = {}
    at = 0
    while True:
        if at + 32 > len(data):
            raise _bad(f"it ends at byte {len(data)} without 'vela_end_stream'")
        name = data[at : at + 16].split(b"\0")[0].decode("ascii", "replace")
        size, external = struct.unpack_from("<IB", data, at + 16)
        if at == 0 and name != "vela_bin_stream":
            raise _bad(f"it starts with {name!r}, expected 'vela_bin_stream'")
        at += 32
        if name == "vela_end_stream":
            return blocks
        if at + size > len(data):
            raise _bad(f"the block {name!r} claims {size} bytes, {len(data) - at} are left")
        if external:
            raise _bad(f"the block {name!r} lies in the named-data map, which is not supported")
        blocks[name] = data[at : at + size]
        at += -(-size // 16) * 16


def _tensors(block: bytes, what: str) -> tuple[VelaTensor, ...]:
    if len(block) < 4:
        raise _bad(f"the block {what!r} has {len(block)} bytes")
    count = struct.unpack_from("<i", block)[0]
    if count < 0 or 4 + 36 * count > len(block):
        raise _bad(f"the block {what!r} claims {count} tensors in {len(block)} bytes")
    tensors = []
    for i in range(count):
        *shape, elem_size, offset, region = struct.unpack_from("<9i", block, 4 + 36 * i)
        if min(shape) < 0 or elem_size not in (1, 2, 4, 8) or offset < 0 or not 0 <= region < 8:
            raise _bad(f"tensor {i} of {what!r} has shape {shape}, element size {elem_size}, {offset=}, {region=}")
        tensors.append(VelaTensor(tuple(shape), elem_size, offset, region))
    return tuple(tensors)


def read_payload(data: bytes) -> Payload:
    """Read a driver payload.

    Raises
    ------
    ConfigError: magic, length or actions are not those of a COP1 payload.
    """
    if data[:4] != b"COP1":
        raise _bad(f"the payload starts with {data[:4]!r}, expected b'COP1'")
    if len(data) % 4:
        raise _bad(f"the payload's {len(data)} bytes are no multiple of 4")
    words = struct.unpack(f"<{len(data) // 4}I", data)
    config = npu_id = None
    at = 1
    while at < len(words):
        action = words[at] & 0xFF
        if action == _ACTION_CONFIG and at + 2 < len(words):
            config, npu_id = words[at + 1], words[at + 2]
            at += 3
        elif action == _ACTION_NOP:
            at += 1
        elif action == _ACTION_STREAM:
            length = (words[at] >> 16) | (words[at] & 0xFF00) << 8
            if at + 1 + length > len(words):
                raise _bad(f"the command stream claims {length} words, {len(words) - at - 1} are left")
            if config is None or npu_id is None:
                raise _bad("the payload has no optimizer configuration before its command stream")
            start = 4 * (at + 1)
            return Payload(config, npu_id, data[start : start + 4 * length], start)
        else:
            raise _bad(f"the payload has the unknown action {words[at]:#010x} at word {at}")
    raise _bad("the payload has no command stream")


def program_target(pte: PteFile) -> Target:
    """The target that a program's Ethos-U delegates were compiled for.

    Raises
    ------
    ConfigError: no Ethos-U delegate, several targets, or an unknown configuration.
    """
    if not pte.ethos_u:
        backends = sorted({d.backend for d in pte.delegates})
        raise ConfigError(
            f"the program has no Ethos-U delegate (delegates: {', '.join(backends) or 'none'})",
            cause=Cause.NO_DELEGATE,
            hint="lower with EthosUPartitioner; a program without a delegate never touches the NPU",
        )
    configs = {read_vela(d.data).payload.config for d in pte.ethos_u}
    found = {from_config(c) for c in configs}
    if len(configs) == 1 and (only := found.pop()) is not None:
        return only
    raise ConfigError(
        "the program's delegates were compiled for " + ", ".join(f"CONFIG {c:#010x}" for c in sorted(configs)),
        cause=Cause.WRONG_TARGET,
        hint="compile the whole program for one known target",
    )
