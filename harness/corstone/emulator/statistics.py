"""The ``--stat`` block, in the FVP's layout. It gives no instruction count: QEMU does not count them."""

from __future__ import annotations

import os

from corstone.emulator.machine import Counters
from corstone.emulator.platforms import Platform

_WIDTH = 79


def statistics(
    platform: Platform, counters: Counters, npu_s: float, began: float, started: float, finished: float
) -> str:
    """Times in seconds; ``began``, ``started``, ``finished`` by ``perf_counter``."""
    times = os.times()
    wall = finished - began
    head = f"--- {platform.top} statistics: "
    rows = [
        ("Simulated time", f"{counters.running_s:.6f}s"),
        ("User time", f"{times.user + times.children_user:.6f}s"),
        ("System time", f"{times.system + times.children_system:.6f}s"),
        ("Wall time", f"{wall:.6f}s"),
        ("Performance index", f"{counters.running_s / wall if wall else 0:.2f}"),
        ("Start of the machine", f"{started - began:.6f}s"),
        ("Device accesses", f"{counters.stops} in {counters.devices_s:.6f}s"),
        ("NPU model", f"{npu_s:.6f}s"),
    ]
    lines = ["", head + "-" * (_WIDTH - len(head)), *(f"{name:<40}: {value}" for name, value in rows), "-" * _WIDTH]
    return "\n".join(lines) + "\n"
