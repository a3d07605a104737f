"""What a shim starts: the emulator called by an FVP's name, and one line in a log for each boot.

``python -m corstone.boards.shims FVP_NAME [FVP option]...``. With ``CORSTONE_BOOT_LOG=FILE`` a line of JSON is appended
for each run that was asked to boot something: ``fvp``, ``test`` (pytest's ``PYTEST_CURRENT_TEST``, ``""`` outside of a
test), ``started`` (QEMU was reached; False when the command line or the image was refused), ``exit``, ``wall_s``. A
shim that is killed with KILL writes none.
"""

from __future__ import annotations

import json
import os
import sys
import time

from corstone.emulator import cli


def main() -> None:
    """Run, log, and leave without the interpreter's teardown, as ``corstone-emulator`` does."""
    began = time.perf_counter()
    name, arguments = sys.argv[1], sys.argv[2:]
    status = cli.main(arguments, program=name)
    sys.stdout.flush()
    sys.stderr.flush()
    if "corstone.emulator.boot" in sys.modules:  # --version and the like never import it
        write_line(os.environ.get("CORSTONE_BOOT_LOG", ""), name, status, time.perf_counter() - began)
    os._exit(status)


def write_line(path: str, name: str, status: int, wall_s: float) -> None:
    """Append one boot to the log; a log that cannot be written is said, and changes no boot's status."""
    if not path:
        return
    row = {
        "fvp": name,
        "test": os.environ.get("PYTEST_CURRENT_TEST", ""),
        # The machine's loop is imported while QEMU starts, never before.
        "started": "corstone.emulator.machine" in sys.modules,
        "exit": status,
        "wall_s": round(wall_s, 3),
    }
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, (json.dumps(row) + "\n").encode())  # one write: boots may run side by side
        finally:
            os.close(descriptor)
    except OSError as error:
        sys.stderr.write(f"corstone-emulator: CORSTONE_BOOT_LOG cannot be written: {error}\n")


if __name__ == "__main__":
    main()
