"""Store files and JSON text (formats.md 1.4)."""

from __future__ import annotations

from typing import Final

from oma_desktop.base.text import N_, Sentence

_UNTOUCHED: Final = N_("The file was left exactly as it is.")
_BACKUP: Final = N_("Put a backup in its place, or move the file away to start with a new store.")

SENTENCES: dict[str, Sentence] = {
    "JSON_EMPTY": Sentence(N_("The file is empty."), _UNTOUCHED, _BACKUP),
    "JSON_NUL_BYTES": Sentence(
        N_("The file holds only zero bytes, as after a power cut."), _UNTOUCHED, _BACKUP
    ),
    "JSON_NOT_UTF8": Sentence(
        N_("The text is not UTF-8: byte {offset} (line {line}) does not belong there."),
        _UNTOUCHED,
        N_("Save it as UTF-8, or put a backup in its place."),
    ),
    "JSON_BOM": Sentence(
        N_("The text begins with a byte order mark, which JSON does not allow here."),
        _UNTOUCHED,
        N_("Save it as UTF-8 without byte order mark."),
    ),
    "JSON_TRUNCATED": Sentence(
        N_("The JSON text ends too early (byte {offset}, line {line}, column {column})."),
        _UNTOUCHED,
        N_("The end was probably never written. Put a backup in its place."),
    ),
    "JSON_TRAILING_DATA": Sentence(
        N_("Something stands behind the end of the JSON text (byte {offset}, line {line})."),
        _UNTOUCHED,
        N_("Remove what does not belong there, or put a backup in its place."),
    ),
    "JSON_INVALID": Sentence(
        N_("The text is not JSON (byte {offset}, line {line}, column {column})."),
        _UNTOUCHED,
        N_("Correct that place, or put a backup in its place."),
    ),
    "JSON_CONSTANT": Sentence(
        N_("JSON has no number {found} (byte {offset}, line {line}, column {column})."),
        _UNTOUCHED,
        N_("Correct that place, or put a backup in its place."),
    ),
    "JSON_DUPLICATE_NAME": Sentence(
        N_("The name “{name}” stands twice in one object, at {where} (line {line})."),
        N_("What is shown and what would run could differ, so the text is not used."),
        N_("Remove one of the two, or put a backup in its place."),
    ),
    "JSON_TOO_DEEP": Sentence(
        N_("The JSON text is nested deeper than {limit} levels (byte {offset}, line {line})."),
        _UNTOUCHED,
        N_("No run writes that; check where the file comes from."),
    ),
    "STORE_NOT_OBJECT": Sentence(
        N_("This is not a store file: it holds a JSON {found} instead of an object."),
        _UNTOUCHED,
        N_("Check that it is the file you meant."),
    ),
    "STORE_TOO_NEW": Sentence(
        N_(
            "The store was written by a newer version: its format is {found}, known is {supported}."
        ),
        _UNTOUCHED,
        N_("Open it with a newer OMA Desktop."),
    ),
    "STORE_VERSION_UNKNOWN": Sentence(
        N_("This is not a store file: its format version is {found} instead of {supported}."),
        _UNTOUCHED,
        N_("Check that it is the file you meant."),
    ),
    "STORE_NO_ENTRIES": Sentence(
        N_("The store has no list of entries ({found} found)."), _UNTOUCHED, _BACKUP
    ),
    "STORE_ENTRY_MALFORMED": Sentence(
        N_("An entry of the store is damaged: {where} is {found} instead of {expected}."),
        _UNTOUCHED,
        _BACKUP,
    ),
    "STORE_CREATED_AT_INVALID": Sentence(
        N_("The creation time of “{key}” is not a date: “{found}”."), _UNTOUCHED, _BACKUP
    ),
    "STORE_METADATA_INVALID": Sentence(
        N_("The metadata of “{key}” is {found} instead of an object."), _UNTOUCHED, _BACKUP
    ),
    "STORE_BOM": Sentence(
        N_("The file begins with a byte order mark, probably from an editor."),
        N_("It was read all the same; the next save writes it without the mark."),
    ),
    "STORE_DUPLICATE_KEY": Sentence(
        N_("The key “{key}” stands twice in the store."),
        N_("The later entry counts."),
    ),
    "STORE_EXPIRY_IGNORED": Sentence(
        N_("An expiry is not a number and is not used: {where}."),
        N_("The entry is kept for good."),
    ),
    "NAME_EMPTY": Sentence(
        N_("An empty id cannot name a file."), "", N_("Give the run an id of 1 to 128 characters.")
    ),
}
