"""Numbers and strings the way JavaScript spells, trims and measures them (formats.md 3.2.1, 9)."""

from __future__ import annotations

import math
import re
from typing import Final

MAX_SAFE_INTEGER: Final = 2**53 - 1
"""Every integer up to here has its own IEEE double (JS `Number.MAX_SAFE_INTEGER`)."""

_JS_WHITESPACE: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_HALF: Final = re.compile("[\ud800-\udfff]")
_AT_ONCE: Final = 1 << 16


def js_number(number: float) -> str:
    """Return ECMAScript Number-to-string of the IEEE double nearest to `number`.

    Non-finite values give `NaN`, `Infinity` or `-Infinity`: no JSON, callers decide what then.
    """
    if isinstance(number, int) and -MAX_SAFE_INTEGER <= number <= MAX_SAFE_INTEGER:
        return int.__repr__(number)
    try:
        double = float(number)
    except OverflowError:
        double = math.inf if number > 0 else -math.inf
    if not math.isfinite(double):
        return "NaN" if double != double else ("Infinity" if double > 0 else "-Infinity")  # noqa: PLR0124
    if double == 0:
        return "0"
    return ("-" if double < 0 else "") + _spell(*_shortest(abs(double)))


def _shortest(double: float) -> tuple[str, int]:
    """Return the shortest round-trip digits and the place of the point counted from their start."""
    mantissa, _, exponent = float.__repr__(double).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + ("" if fraction == "0" else fraction)
    point = len(whole) + int(exponent or 0)
    stripped = digits.lstrip("0")
    return stripped.rstrip("0"), point - (len(digits) - len(stripped))


def _spell(digits: str, point: int) -> str:
    """ECMAScript Number::toString steps 5-10 for positive numbers."""
    n = len(digits)
    if n <= point <= 21:
        return digits + "0" * (point - n)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    fraction = f".{digits[1:]}" if n > 1 else ""
    return f"{digits[0]}{fraction}e{point - 1:+d}"


def js_trim(text: str) -> str:
    """Trim as JS `trim` does: not U+0085, not U+001C-U+001F, but U+FEFF (formats.md T9)."""
    return text.strip(_JS_WHITESPACE)


def has_halves(text: str) -> bool:
    """Whether a surrogate code point stands in the text; such text cannot be encoded as UTF-8."""
    if text.isascii():
        return False
    if len(text) > _AT_ONCE:  # other threads get their turn
        return any(has_halves(text[at : at + _AT_ONCE]) for at in range(0, len(text), _AT_ONCE))
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def join_halves(text: str) -> str:
    """Join surrogate halves that stand side by side into one character (formats.md T22)."""
    if not has_halves(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def escape_halves(text: str) -> str:
    r"""Write lone surrogates as `\udxxx`, lower-case, as well-formed JSON.stringify does."""
    if not has_halves(text):
        return text
    return _HALF.sub(lambda m: f"\\u{ord(m[0]):04x}", join_halves(text))


def replace_halves(text: str) -> str:
    """Return the text as JS turns it into UTF-8: each lone surrogate as U+FFFD (formats.md 9)."""
    return _HALF.sub("\ufffd", join_halves(text)) if has_halves(text) else text


def utf16_length(text: str) -> int:
    """Length in UTF-16 code units, the peer's measure of every limit (formats.md T10)."""
    if text.isascii():
        return len(text)
    return len(text) + sum(1 for c in text if c > "\uffff")


def cut_utf16(text: str, units: int) -> str:
    """Return the first `units` UTF-16 units exactly as JS `slice` does: a pair may be split."""
    if len(text) <= units // 2 or (text.isascii() and len(text) <= units):
        return text
    raw = text[:units].encode("utf-16-le", "surrogatepass")[: units * 2]
    return raw.decode("utf-16-le", "surrogatepass")


def cut_whole(text: str, units: int) -> str:
    """Return at most `units` UTF-16 units without ever splitting a pair: our own shortening."""
    cut = cut_utf16(text, units)
    split = cut != text[: len(cut)]
    return cut[:-1] if split else cut


def utf16_order(text: str) -> bytes:
    """Sort key: ascending by UTF-16 code units, the order of JS `sort` (formats.md T6)."""
    return text.encode("utf-16-be", "surrogatepass")
