"""What the emulator says in its own name, on the error output."""

from __future__ import annotations

import os
import sys


def say(text: str) -> None:
    """One message, after everything that was printed before it."""
    sys.stdout.flush()
    os.write(2, f"corstone-emulator: {text}\n".encode(errors="replace"))
