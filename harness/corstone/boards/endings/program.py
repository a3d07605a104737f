"""Endings where the runner refuses: the program, the configuration of the NPU, alignment, allocators, arguments."""

from __future__ import annotations

from corstone.boards.endings.rule import Match, Rule, find, says
from corstone.boards.facts import BootFacts
from corstone.causes import Cause, Outcome

_CRASHED = Outcome.CRASHED
_REFUSED = r"Ethos-U invocation failed error|Failed to invoke inference"


def _identifier(facts: BootFacts) -> Match | None:
    hit = find(facts, r"Program identifier '(?P<got>.{0,8})' != expected '(?P<want>.{4})'")
    if hit is None:
        return None
    got, want = hit[1]["got"], hit[1]["want"]
    bundle = "it is a bundled program, and this runner reads plain ones" if got.startswith("BP") else ""
    hint = "give the plain .pte, or a runner built with bundled programs" if bundle else ""
    return Match(
        f"the program's identifier is {got!r}, the runner reads {want!r}{'; ' + bundle if bundle else ''}", {}, hint
    )


def _macs(facts: BootFacts) -> Match | None:
    hit = find(
        facts, r"NPU config mismatch[.:]? ?.*?npu\.macs_per_cc=(?P<npu>\d+),? .*?optimizer\.macs_per_cc=(?P<vela>\d+)"
    )
    if hit is None:
        return _other_target(facts)
    # The driver prints log2 of the MACs.
    npu, vela = (1 << min(int(hit[1][name]), 31) for name in ("npu", "vela"))
    if npu == vela:
        return None
    product = facts.asked.target.rpartition("-")[0] or "ethos-u"
    return Match(
        f"the command stream is for {product}-{vela}, the simulator's NPU has {npu} MACs",
        {"npu": str(npu), "stream": str(vela)},
        f"compile for {product}-{npu}, or boot with the target {product}-{vela}",
    )


def _other_target(facts: BootFacts) -> Match | None:
    """Arm's image loses the driver's text: the refusal and what is known about the program tell the same."""
    asked = facts.asked
    if not asked.stream or asked.stream == asked.target or not find(facts, _REFUSED):
        return None
    return Match(
        f"the command stream is for {asked.stream}, the board was started with {asked.target}",
        {"npu": asked.target, "stream": asked.stream},
        f"compile for {asked.target}, or boot with the target {asked.stream}",
    )


def _scratch(facts: BootFacts) -> Match | None:
    need = find(facts, r"Failed to allocate scratch buffer of (?P<size>\d+) bytes from temp_allocator")
    if need is None:
        return None
    room = _requested(facts)
    extra = f"; the pool had {room[1]} bytes left" if room else ""
    return Match(
        f"the NPU's scratch buffer needs {need[1]['size']} bytes{extra}",
        {"required": need[1]["size"]} | ({"available": room[1]} if room else {}),
        f"build the runner with a TEMP (scratch) pool of at least {need[1]['size']} bytes, or compile with less arena",
    )


def _requested(facts: BootFacts) -> tuple[str, str] | None:
    hit = find(facts, r"(?P<want>\d+) ?B requested.*?(?P<room>\d+) ?B (?:available|free)") or find(
        facts, r"allocation failed: (?P<want>\d+) bytes .*?(?P<room>\d+) (?:of \d+ bytes )?available"
    )
    return (hit[1]["want"], hit[1]["room"]) if hit else None


def _pool(facts: BootFacts) -> Match | None:
    pair = _requested(facts)
    if pair:
        return Match(
            f"an allocator ran out: {pair[0]} bytes requested, {pair[1]} available",
            {"required": pair[0], "available": pair[1], "excess": str(int(pair[0]) - int(pair[1]))},
            f"build the runner with a METHOD pool larger by at least {int(pair[0]) - int(pair[1])} bytes",
        )
    hit = find(facts, r"(?i)memory allocation failed|failed to allocate|MemoryAllocationFailed|status 0x0*21\b")
    return Match(f"an allocator ran out: {hit[0].text.strip()}") if hit else None


RULES: tuple[Rule, ...] = (
    Rule(
        "program-identifier",
        _CRASHED,
        Cause.PROGRAM_REJECTED,
        "The runner does not know the program's identifier",
        "not a .pte of this ExecuTorch version, or a damaged one: 'corstone preflight' says what bytes 4 to 7 are",
        _identifier,
    ),
    Rule(
        "missing-kernel",
        _CRASHED,
        Cause.PROGRAM_REJECTED,
        "The program needs a CPU kernel that the runner lacks",
        "use a runner with that kernel (Arm's image has all portable ones), or move the operator to the NPU",
        says(
            r"(?i)missing operator:? ?(?:\[\d+\] )?(?P<kernel>[\w:.]+)|kernel '(?P<other>\S+)' not found",
            message="the runner lacks a kernel: {kernel}{other}",
        ),
    ),
    Rule(
        "missing-backend",
        _CRASHED,
        Cause.PROGRAM_REJECTED,
        "The program's delegate is unknown to the runner",
        "the program is for another backend, or the runner was linked without the Ethos-U one",
        says(r"Backend (?P<name>\S+) is not (?:registered|available)", message="the runner has no backend {name}"),
    ),
    Rule(
        "malformed-delegate",
        _CRASHED,
        Cause.PROGRAM_REJECTED,
        "The delegate's block is damaged or of another format",
        "compile the program again; both sides must be of the same ExecuTorch version",
        says(
            r"Malformed vela_bin_stream found|vela_read: error|Custom Operator Payload: .* is not correct"
            r"|custom_data_size=.* not a multiple of 4"
        ),
    ),
    Rule(
        "wrong-product",
        _CRASHED,
        Cause.CONFIG_MISMATCH,
        "The runner's driver is for another NPU product",
        "take the runner of the board that carries the target",
        says(
            r"Driver has not been compiled for this product"
            r"|NPU config mismatch[.:]? ?npu\.product=\d+, optimizer\.product=\d+"
        ),
    ),
    Rule(
        "config-mismatch-macs",
        _CRASHED,
        Cause.CONFIG_MISMATCH,
        "The command stream was compiled for another number of MACs",
        "compile for the NPU that the simulator was started with",
        _macs,
    ),
    Rule(
        "config-mismatch-stream-version",
        _CRASHED,
        Cause.CONFIG_MISMATCH,
        "The command stream has a version that this NPU does not read",
        "compile with the Vela version that matches the runner's driver",
        says(
            r"NPU config mismatch.*npu\.cmd_stream_version=(?P<npu>\d+), optimizer\.cmd_stream_version=(?P<vela>\d+)",
            message="the NPU reads command stream version {npu}, the program has {vela}",
        ),
    ),
    Rule(
        "config-mismatch",
        _CRASHED,
        Cause.CONFIG_MISMATCH,
        "The NPU differs from the one compiled for in another field",
        "compile for this NPU's configuration",
        says(r"NPU config mismatch"),
    ),
    Rule(
        "arch-mismatch",
        _CRASHED,
        Cause.CONFIG_MISMATCH,
        "The NPU's architecture version is older than the command stream's",
        "compile with an older Vela, or use a newer simulator",
        says(
            r"NPU arch mismatch[.:]? ?npu\.arch=(?P<npu>[\d.]+), optimizer\.arch=(?P<vela>[\d.]+)",
            message="the NPU has architecture {npu}, the program wants {vela}",
        ),
    ),
    Rule(
        "no-npu",
        _CRASHED,
        Cause.CONFIG_MISMATCH,
        "The runner finds no NPU where it looks for one",
        "the runner is for another board, or the simulator has no NPU at that address",
        says(
            r"Failed to switch security state and privilege level|Failed to initiali[sz]e Ethos-U device"
            r"|Soft reset timed out|TA0 initialisation failed"
        ),
    ),
    Rule(
        "alignment-stream",
        _CRASHED,
        Cause.ALIGNMENT,
        "The command stream is not aligned to 16 bytes",
        "load the program at a 16-byte boundary; in an ELF align its section",
        says(
            r"Command stream addr (?P<address>\S+) not aligned to 16 bytes",
            message="the command stream at {address} is not aligned to 16 bytes",
        ),
    ),
    Rule(
        "alignment-base",
        _CRASHED,
        Cause.ALIGNMENT,
        "A buffer that the NPU uses is not aligned to 16 bytes",
        "align the runner's pools and the program to 16 bytes",
        says(
            r"Base addr (?P<index>\d+): (?P<address>0x[0-9a-fA-F]+) ?not aligned to 16 bytes",
            message="base address {index} at {address} is not aligned to 16 bytes",
        ),
    ),
    Rule(
        "allocator-scratch",
        _CRASHED,
        Cause.ALLOCATOR,
        "The runner's temporary pool is smaller than the delegate's scratch buffer",
        "build the runner with a larger TEMP pool",
        _scratch,
    ),
    Rule(
        "allocator-io",
        _CRASHED,
        Cause.ALLOCATOR,
        "The runner's buffer for inputs or outputs is too small",
        "use a runner with larger windows",
        says(
            r"(?P<which>IFM|OFM) reserved buffer size insufficient", message="the runner's {which} buffer is too small"
        ),
    ),
    Rule(
        "allocator-fast-memory",
        _CRASHED,
        Cause.ALLOCATOR,
        "The NPU's fast memory is smaller than the program wants",
        "compile with a smaller arena cache, or for another memory mode",
        says(
            r"Fast memory area too small\. fast_memory_size=(?P<room>\d+), base_addr_size=(?P<want>\d+)",
            message="fast memory has {room} bytes, the program wants {want}",
        ),
    ),
    Rule(
        "allocator-pool",
        _CRASHED,
        Cause.ALLOCATOR,
        "The runner's method pool ran out",
        "build the runner with a larger METHOD pool, or use our runner",
        _pool,
        decides=False,
    ),
    Rule(
        "input-not-set",
        _CRASHED,
        Cause.UNSUPPORTED,
        "The runner cannot set an input that is no tensor",
        "use our runner (--runner), which sets scalars too",
        says(r"Input (?P<index>\d+) has not been set", message="input {index} was not set by the runner"),
    ),
    Rule(
        "input-mismatch",
        _CRASHED,
        Cause.BAD_INPUT,
        "An input does not have the size or type that the program takes",
        "compare the input files with the program's inputs",
        says(
            r"Program expects \d+ elements but got \d+"
            r"|Input \d+ (?:has unexpected scalar type|was expected to|expected Int)"
            r"|Failed to set input tensor|[Ii]nput (?:file )?\S* ?size mismatch"
        ),
    ),
    Rule(
        "element-size",
        _CRASHED,
        Cause.OUTPUT_SIZE,
        "An output's element size differs between the program and its delegate",
        "compile the program again; both sides must be of the same ExecuTorch version",
        says(
            r"expansion factor \d+ with element size \d+ not supported|reports zero element size"
            r"|not divisible by (?:vela chunk|chunk)"
        ),
    ),
    Rule(
        "bad-arguments",
        _CRASHED,
        Cause.CONFIGURATION,
        "The runner refuses its arguments",
        "the command line may have been cut: see semihosting-cmd_line in the command",
        says(r"(?i)(?:unknown|invalid|missing) (?:argument|flag|option)\b|usage: executor_runner", "target"),
        decides=False,
    ),
    Rule(
        "input-file",
        _CRASHED,
        Cause.NO_SEMIHOSTING,
        "The runner cannot open a file by semihosting",
        "check semihosting-cwd; only files in the boot's own folder are there",
        says(r"(?i)(?:could not|failed to|cannot) (?:open|read) (?:input |model |pte )?file", "target"),
        decides=False,
    ),
    Rule(
        "method-load-failed",
        _CRASHED,
        Cause.PROGRAM_REJECTED,
        "The runner could not load the program's method",
        "see the lines above it in the console log",
        says(
            r"Loading of method \S+ failed with status 0x|Failed to get method_meta|[Pp]rogram loading failed"
            r"|Failed to (?:parse|load) (?:model|program)"
        ),
        decides=False,
    ),
    Rule(
        "model-not-initialised",
        _CRASHED,
        Cause.PROGRAM_REJECTED,
        "The runner could not initialise the program",
        "see the lines above it in the console log; a damaged .pte ends like this",
        says(r"Failed to initiali[sz]e model|Model is not initiali[sz]ed"),
        decides=False,
    ),
    Rule(
        "platform-not-initialised",
        _CRASHED,
        Cause.CONFIG_MISMATCH,
        "The runner could not initialise its platform",
        "the runner is for another board, or a device it needs is missing",
        says(r"Failed to initiali[sz]e platform|CPU ID mismatch"),
    ),
)
