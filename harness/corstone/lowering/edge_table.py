"""ExecuTorch's table of the dtypes of its edge operators, read as far as it is asked for. Imports nothing heavy.

``edge.yaml`` has 141 operators, parsed at import; a lowering asks for a handful. Here the text is cut into its blocks,
and a block goes through the same parser when something asks for more than its operator's name. A text that is not such
a list of blocks is left to the parser.
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


def blocks(text: str, parse: Parse) -> list[Mapping[str, Any]] | None:
    """The entries of such a table, each parsed when needed; None where the text is something else."""
    plain = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    head, *cut = _BLOCK.split(plain)
    names = [_NAMED.findall(block) for block in cut]
    if head.strip() or not cut or _NOT_PLAIN.search(plain) or any(len(found) != 1 for found in names):
        return None
    return [_Block(name, "- " + block, parse) for (name,), block in zip(names, cut, strict=True)]


class _Block(Mapping[str, Any]):
    """One entry; everything but its name is parsed when it is first asked for."""

    def __init__(self, name: str, text: str, parse: Parse) -> None:
        self._name = name
        self._text = text
        self._parse = parse
        self._parsed: dict[str, Any] | None = None

    def _all(self) -> dict[str, Any]:
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
