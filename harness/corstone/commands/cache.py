"""``corstone cache list|prune|verify``: what is kept of compilers and references, and what goes."""

from __future__ import annotations

import argparse
import time
from collections import Counter

from corstone.lowering.cache import cache_root, shared_root
from corstone.lowering.prune import IDLE_S, LIMIT, damaged, entries, parse_size, prune, size_limit

_DAMAGED = 1


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Make the parser."""
    parser = subparsers.add_parser(
        "cache",
        help="list, prune and verify cached programs",
        description="The cache of compiled programs and of references' answers, under CORSTONE_CACHE. A cache named in "
        f"CORSTONE_CACHE_SHARED is read below it and never written. {LIMIT} bounds the own one (default 4G).",
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="what is there, used last first")
    listing.add_argument("--all", action="store_true", help="every entry, not only programs")
    pruning = actions.add_parser("prune", help="remove what was used longest ago")
    pruning.add_argument("--size", help=f"what may stay, for example 500M (default: {LIMIT}, else 4G)")
    pruning.add_argument(
        "--idle", type=float, default=IDLE_S, metavar="SECONDS", help="keep what was used that recently (default 3600)"
    )
    verifying = actions.add_parser("verify", help="hash every file; exit status 1 when one is damaged")
    verifying.add_argument("--keep", action="store_true", help="leave damaged entries where they are")
    return parser


def run(args: argparse.Namespace) -> int:
    """Do the action; return the exit status."""
    if args.action == "list":
        return _list(everything=args.all)
    if args.action == "prune":
        limit = size_limit() if args.size is None else parse_size(args.size)
        removed = prune(cache_root(), limit, idle_s=args.idle)
        print(f"removed {len(removed)} entries, {_size(sum(entry.size for entry in removed))}")
        return 0
    return _verify(keep=args.keep)


def _list(*, everything: bool) -> int:
    found = sorted(entries(cache_root()), key=lambda entry: -entry.used)
    now = time.time()
    for entry in found:
        if everything or entry.store.kind == "programs":
            age = (now - entry.used) / 3600
            print(f"{entry.folder.name[:16]}  {_size(entry.size):>9}  {age:7.1f} h  {entry.store.kind}  {entry.what}")
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for entry in found:
        counts[entry.store.kind] += 1
        sizes[entry.store.kind] += entry.size
    for kind in sorted(counts):
        print(f"{kind}: {counts[kind]} entries, {_size(sizes[kind])}")
    print(f"{cache_root()}: {_size(sizes.total())} of {_size(size_limit())}")
    if (shared := shared_root()) is not None:
        print(f"shared, read only: {shared} ({sum(1 for _ in entries(shared))} entries)")
    return 0


def _verify(*, keep: bool) -> int:
    checked = sum(1 for _ in entries(cache_root()))
    bad = damaged(cache_root())
    for entry, problem in bad:
        print(f"damaged: {entry.folder}: {problem}")
        if not keep:
            entry.store.discard(entry.folder)
    print(f"{checked} entries checked, {len(bad)} damaged" + (", removed" if bad and not keep else ""))
    return _DAMAGED if bad else 0


def _size(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB"
