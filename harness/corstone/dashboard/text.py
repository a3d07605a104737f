"""Text from anywhere made safe to show: names, messages and consoles stay text, whatever is in them."""

from __future__ import annotations

import html
import re

# Control characters but tab and line feed, lone surrogates, and everything that reorders or hides text.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff]"
)
_JOINT = re.compile(r"(?<=[_/:\-\]])(?=[^:])|(?=\[)")


def visible(text: str) -> str:
    """``text`` with each unsafe character as something that can be seen: ``␛`` for ESC, ``<U+202E>`` for a mark."""
    return _UNSAFE.sub(_picture, text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"<U+{code:04X}>"


def esc(text: object) -> str:
    """``visible`` text for HTML, also inside quoted attributes."""
    return html.escape(visible(str(text)), quote=True)


def joints(text: object) -> str:
    """``esc``, with a place to break a line after each joint of a name: a test's id is longer than a line."""
    return "<wbr>".join(esc(part) for part in _JOINT.split(str(text)))


def slug(text: str, used: set[str] | None = None, limit: int = 80) -> str:
    """A file name from any text: lower case letters, digits and dashes; a number is added until it is not ``used``."""
    base = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:limit].strip("-") or "x"
    if used is None:
        return base
    name, number = base, 2
    while name in used:
        name, number = f"{base}-{number}", number + 1
    used.add(name)
    return name
