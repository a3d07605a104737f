"""ExecuTorch's table of the dtypes of its edge operators, read as far as it is asked for. Imports nothing heavy.

``edge.yaml`` has 141 operators, parsed at import. Here the text is cut into its blocks, and a block is read when
something asks for more than its operator's name: importing the passes of the Arm backend asks for 122 of them. A block
laid out as ExecuTorch's generator does, of words that are text in every YAML, is taken apart line by line, another one
goes through the same parser. A text that is not such a list of blocks is left to the parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Parse = Callable[[str], Any]

_KEY = "inherits"
_BLOCK = re.compile(r"^- ", re.MULTILINE)
_NAMED = re.compile(rf"^  {_KEY}: ([a-z_A-Z][\w:.]*)$", re.MULTILINE)
# Anchors, aliases, tags, block scalars, quotes, documents: with one of them a block may not stand for itself.
_NOT_PLAIN = re.compile(r"""[&*!|>%'"]|^---|^\.\.\.""", re.MULTILINE)
_WORD = r"[A-Za-z_](?:[\w:.]*\w)?"
_LAID_OUT = re.compile(
    rf"- (func: {_WORD}\n(?:  \w+: {_WORD}\n)*)  type_alias:\n((?:    \w+: \[\w+(?:, \w+)*\]\n)+)"
    rf"  type_constraint:\n((?:  - \w+: \w+\n(?:    \w+: \w+\n)*)+)\n*"
)
# What YAML, of one version or another, takes for something else than text.
_NO_TEXT = re.compile(r"\b(?:true|false|yes|no|on|off|y|n|null|\d\w*|_\d[\d_]*)\b", re.IGNORECASE)


def blocks(text: str, parse: Parse) -> list[Mapping[str, Any]] | None:
    """The entries of such a table, each parsed when needed; None where the text is something else."""
    plain = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    head, *cut = _BLOCK.split(plain)
    names = [_NAMED.findall(block) for block in cut]
    if head.strip() or not cut or _NOT_PLAIN.search(plain) or any(len(found) != 1 for found in names):
        return None
    return [_Block(name, "- " + block, parse) for (name,), block in zip(names, cut, strict=True)]


def laid_out(text: str) -> dict[str, Any] | None:
    """One entry as the generator lays it out; None where it is laid out, or can be read, otherwise."""
    found = _LAID_OUT.fullmatch(text)
    if found is None or _NO_TEXT.search(text):
        return None
    head, aliases, constraints = found.groups()
    parts = [_pairs(head), _pairs(aliases), *map(_pairs, re.split(r"^  - ", constraints, flags=re.MULTILINE)[1:])]
    if any(len({key for key, _ in pairs}) < len(pairs) for pairs in parts):
        return None
    plain, named, *narrowed = parts
    return {
        **dict(plain),
        "type_alias": {key: value[1:-1].split(", ") for key, value in named},
        "type_constraint": [dict(pairs) for pairs in narrowed],
    }


def _pairs(lines: str) -> list[list[str]]:
    return [line.strip().split(": ", 1) for line in lines.splitlines()]


class _Block(Mapping[str, Any]):
    """One entry; everything but its name is parsed when it is first asked for."""

    def __init__(self, name: str, text: str, parse: Parse) -> None:
        self._name = name
        self._text = text
        self._parse = parse
        self._parsed: dict[str, Any] | None = None

    def _all(self) -> dict[str, Any]:
        if self._parsed is None:
            self._parsed = laid_out(self._text)
        if self._parsed is None:
            (self._parsed,) = self._parse(self._text)
        assert self._parsed is not None
        return self._parsed

    def __getitem__(self, key: str) -> Any:
        return self._name if key == _KEY else self._all()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())
