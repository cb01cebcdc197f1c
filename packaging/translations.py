"""Keep the message catalogue in step with the source: `update` merges, `check` only tells.

    python packaging/translations.py update   # after sentences changed; then fill the new msgstr
    python packaging/translations.py check    # exit 1 unless every sentence has its Chinese

Sentences are what `tr(`, `ntr(` and `N_(` mark (base/text.py). The `.po` file is the source and is
read directly; nothing compiled is kept in the repository.
"""

from __future__ import annotations

import sys
from pathlib import Path
from string import Formatter

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
PO = ROOT / "resources" / "i18n" / "zh_CN" / "LC_MESSAGES" / "oma.po"
KEYWORDS = {"tr": None, "ntr": (1, 2), "N_": None}


def extract() -> Catalog:
    """Collect every marked sentence of the package."""
    catalog = Catalog(domain="oma", project="oma-desktop", charset="utf-8", fuzzy=False)
    found = extract_from_dir(
        ROOT / "oma_desktop",
        method_map=[("**.py", "python")],
        keywords=KEYWORDS,
    )
    for name, _line, message, comments, context in found:
        catalog.add(
            message, None, [(f"oma_desktop/{name}", 0)], auto_comments=comments, context=context
        )
    return catalog


def read() -> Catalog:
    """Read the Chinese catalogue; an empty one when there is none yet."""
    if not PO.exists():
        return Catalog(locale="zh_CN", domain="oma", charset="utf-8", fuzzy=False)
    with PO.open("rb") as stream:
        return read_po(stream, locale="zh_CN", domain="oma")


def update() -> int:
    """Add new sentences, drop vanished ones, never guess a translation."""
    catalog = read()
    catalog.update(extract(), no_fuzzy_matching=True)
    catalog.obsolete.clear()
    PO.parent.mkdir(parents=True, exist_ok=True)
    with PO.open("wb") as stream:
        write_po(
            stream,
            catalog,
            width=0,
            sort_output=True,
            omit_header=False,
            include_lineno=False,
            ignore_obsolete=True,
        )
    missing = [m for m in problems(catalog) if m.startswith("untranslated")]
    print(f"{PO.relative_to(ROOT)}: {len(catalog)} sentences, {len(missing)} without Chinese")
    return 0


def places(text: str) -> set[str]:
    """Return the named places of a sentence."""
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def _texts(value: object) -> list[str]:
    return [value] if isinstance(value, str) else list(value) if value else []  # type: ignore[call-overload]


def problems(catalog: Catalog) -> list[str]:
    """Name every sentence that is missing, untranslated, or has other places than the source."""
    found: list[str] = []
    for wanted in extract():
        if not wanted.id:
            continue
        message: Message | None = catalog.get(wanted.id)
        originals = _texts(wanted.id)
        if message is None:
            found.append(f"missing: {originals[0]!r}")
            continue
        translations = _texts(message.string)
        if not translations or not all(translations):
            found.append(f"untranslated: {originals[0]!r}")
            continue
        allowed = set().union(*(places(t) for t in originals))
        # One text must keep every place; a plural form may leave the number out.
        needed = allowed - {"n"}
        found.extend(
            f"other places: {originals[0]!r} -> {translation!r}"
            for translation in translations
            if not needed <= places(translation) <= allowed
        )
    return found


def check() -> int:
    """Print every problem; exit 1 when there is one."""
    found = problems(read())
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit({"update": update, "check": check}[sys.argv[1]]())
