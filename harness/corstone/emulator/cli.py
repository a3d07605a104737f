"""``corstone-emulator``: plays Arm's FVPs for Corstone-300 and Corstone-320 on QEMU, with their command line.

Options and wiring; what happens is in ``boot.py``.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from corstone.causes import Cause
from corstone.emulator.options import HELP, Options, parse
from corstone.errors import ConfigError, HarnessError
from corstone.targets import TARGETS, Target

if TYPE_CHECKING:
    from corstone.emulator.boot import Board
    from corstone.emulator.parameters import Parameters

_INTERNAL = 70


def main(arguments: Sequence[str] | None = None, program: str | None = None) -> int:
    """Run the command. ``program`` is the name it was called by; an FVP's name chooses its board and NPU.

    Without ``arguments`` it is the process's own entry point: it leaves by ``os._exit``, as the interpreter's teardown
    would cost as much as a small program's NPU time.
    """
    if arguments is None:
        status = _guarded(sys.argv[1:], program or sys.argv[0])
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return _guarded(list(arguments), program or sys.argv[0])


def _guarded(arguments: list[str], program: str) -> int:
    began = time.perf_counter()
    try:
        return _main(arguments, program, began)
    except HarnessError as error:
        _complain(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Nobody reads any more; what is still buffered must not raise again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    except Exception as error:
        import traceback

        traceback.print_exc()
        _complain(f"internal error: {type(error).__name__}: {error}; please report it with the lines above")
        return _INTERNAL


def _main(arguments: list[str], program: str, began: float) -> int:
    options = parse(arguments)
    if options.action == "help":
        sys.stdout.write(HELP)
        return 0
    if options.action == "version":
        return _version()
    board = choose(options, program)
    if options.action == "list-params":
        from corstone.emulator.parameters import listing

        sys.stdout.write(listing(board.platform, board.parameters.values))
        return 0
    if options.action == "list-instances":
        return _instances(board)
    from corstone.emulator.boot import Boot

    boot = Boot(options, board)
    if not options.quiet:
        from corstone import __version__

        title = f"{board.platform.board.title}, {board.target.name}"
        sys.stdout.write(f"corstone-emulator: version {__version__}, not an Arm product; plays {title}\n\n")
        sys.stdout.flush()
    return boot.run(began)


def choose(options: Options, program: str) -> Board:
    """The board, its NPU and the parameters that a command line asks for.

    Raises
    ------
    ConfigError: no such board or FVP, an unknown parameter, or MACs that the NPU does not come in.
    """
    from corstone.emulator.boot import Board
    from corstone.emulator.parameters import Parameters
    from corstone.emulator.platforms import PLATFORMS, SIMULATORS, platform

    name = options.fvp or os.path.basename(program)
    if options.fvp and options.fvp not in SIMULATORS:
        raise ConfigError(f"there is no FVP {options.fvp!r} to play", hint="use one of " + ", ".join(SIMULATORS))
    found, product = SIMULATORS.get(name, (None, ""))
    if options.board:
        if found is not None and found.name != options.board:
            raise ConfigError(f"--board {options.board} contradicts {name}")
        found = platform(options.board)
    if found is None:
        by_name = (p for p in PLATFORMS.values() for key, _ in options.settings if key.startswith(p.board_prefix))
        found = next(by_name, next(iter(PLATFORMS.values())))
    parameters = Parameters(found, options.settings)
    return Board(found, _target(found.board.targets, product, parameters), parameters)


def _target(names: tuple[str, ...], product: str, parameters: Parameters) -> Target:
    """The NPU of ``num_macs`` MACs; a number that only one product of the board has names the product too."""
    rows = [TARGETS[name] for name in names if product in ("", TARGETS[name].product)]
    macs = int(parameters.cpu("ethosu.num_macs"))
    old = str(parameters.values.get("ethosu.config", ""))
    if old[:1] == "H" and old[1:].isdigit():
        macs = int(old[1:])
    elif not any(key.endswith("ethosu.num_macs") for key in parameters.given):
        # The board's default is of its first product; another may not come in that size.
        macs = next((row.macs for row in rows if row.macs == macs), rows[0].macs)
    for row in rows:
        if row.macs == macs:
            return row
    raise ConfigError(
        f"there is no Ethos-{product or 'U'} with {macs} MACs on this board",
        cause=Cause.CONFIGURATION,
        hint="ethosu.num_macs can be " + ", ".join(dict.fromkeys(str(row.macs) for row in rows)),
    )


def _version() -> int:
    from corstone import __version__
    from corstone.emulator.qemu import ask_version, find_qemu

    path = find_qemu()
    sys.stdout.write(
        f"corstone-emulator {__version__}\n"
        "Not an Arm product, and not a Fixed Virtual Platform: it plays their command line.\n"
        f"CPU: QEMU {ask_version(path)} ({path}), NPU: functional model, bit-exact as measured in its documentation\n"
    )
    return 0


def _instances(board: Board) -> int:
    prefix = board.platform.prefix
    rows = [
        (board.platform.top, "Board", board.platform.board.title),
        (f"{prefix}cpu0", "ARM_Cortex-M55", "CPU, in QEMU"),
        (f"{prefix}ethosu", f"Ethos-{board.target.product}", board.target.name),
        (f"{board.platform.board_prefix}uart0", "CMSDK_UART", "UART0"),
    ]
    for name, kind, text in rows:
        sys.stdout.write(f"{name:<40} {kind:<20} {text}\n")
    return 0


def _complain(text: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(f"corstone-emulator: {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
