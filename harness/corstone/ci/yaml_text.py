"""Plain data as YAML text: mappings, lists, scalars and blocks of script, nothing else.

Every string is quoted as JSON quotes it, which YAML reads the same way; a string with line breaks becomes a literal
block. Writing only needs this little, and a generated file must be the same on every machine.
"""

from __future__ import annotations

import json
import re
from typing import Any

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./@-]*\Z")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "~"}


def dump(data: Any, indent: int = 0) -> str:
    """``data`` as a block of YAML, each line indented by ``indent`` spaces."""
    return "".join(f"{line}\n" for line in _lines(data, indent))


def _lines(data: Any, indent: int) -> list[str]:
    pad = " " * indent
    if isinstance(data, dict) and data:
        return [line for key, value in data.items() for line in _entry(f"{pad}{_key(str(key))}:", value, indent)]
    if isinstance(data, list) and data:
        result = []
        for item in data:
            if isinstance(item, dict | list) and item:
                inner = _lines(item, indent + 2)
                result += [f"{pad}- {inner[0].lstrip()}", *inner[1:]]
            else:
                result += _entry(f"{pad}-", item, indent)
        return result
    return [pad + _scalar(data)]


def _entry(head: str, value: Any, indent: int) -> list[str]:
    if isinstance(value, dict | list) and value:
        return [head, *_lines(value, indent + 2)]
    if isinstance(value, str) and "\n" in value and _fits_a_block(value):
        pad = " " * (indent + 2)
        return [f"{head} |", *(pad + line if line else "" for line in value.rstrip("\n").split("\n"))]
    return [f"{head} {_scalar(value)}"]


def _fits_a_block(text: str) -> bool:
    """Whether a literal block says the same: printable lines, the first of which shows how deep the block is."""
    lines = text.split("\n")
    return lines[0].strip() != "" and not lines[0].startswith(" ") and all(line.isprintable() for line in lines)


def _key(key: str) -> str:
    # ``on`` is a boolean to old readers, and GitHub takes it quoted.
    return key if _PLAIN_KEY.match(key) and key.lower() not in _WORDS else json.dumps(key)


def _scalar(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        plain = _PLAIN.match(value) and value.lower() not in _WORDS
        # Printable text stays as it is; anything else goes as an escape, which YAML reads like JSON, pairs excepted.
        return value if plain else json.dumps(value, ensure_ascii=not value.isprintable())
    return json.dumps(value)
