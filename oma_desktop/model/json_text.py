"""JSON as text: the strict reader and the writer that spells like the peer (formats.md 1.4, 9).

One door to `json_reader`, `json_writer` and `js_text`; everything that reads or writes JSON bytes
goes through here, nothing calls `json` on its own.
"""

from __future__ import annotations

from oma_desktop.model.js_text import (
    MAX_SAFE_INTEGER,
    cut_utf16,
    cut_whole,
    js_number,
    js_trim,
    replace_halves,
    utf16_length,
)
from oma_desktop.model.json_reader import MAX_DEPTH, STORE_DEPTH, parse, parse_with_bom, try_parse
from oma_desktop.model.json_writer import encode, quote, stringify

__all__ = [
    "MAX_DEPTH",
    "MAX_SAFE_INTEGER",
    "STORE_DEPTH",
    "cut_utf16",
    "cut_whole",
    "encode",
    "js_number",
    "js_trim",
    "parse",
    "parse_with_bom",
    "quote",
    "replace_halves",
    "stringify",
    "try_parse",
    "utf16_length",
]
