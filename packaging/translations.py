"""Keep the message catalogue in step with the source: `update` merges, `check` only tells.

    python packaging/translations.py update   # after sentences changed; then fill the new msgstr
    python packaging/translations.py check    # exit 1 unless every sentence has its Chinese

Sentences are what `tr(`, `ntr(` and `N_(` mark (base/text.py). The `.po` file is the source and is
read directly; nothing compiled is kept in the repository. The file depends on the sentences alone:
no dates, no versions, no line numbers, one order.
"""

from __future__ import annotations

import ast
import io
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "oma_desktop"
PO = ROOT / "resources" / "i18n" / "zh_CN" / "LC_MESSAGES" / "oma.po"
KEYWORDS = {"tr": None, "ntr": (1, 2), "N_": None}
N_SENTENCES = {"tr": 1, "ntr": 1, "N_": 1}
GLUED = (ast.JoinedStr, ast.BinOp, ast.IfExp)
HEADER = """\
# Simplified Chinese sentences of OMA Desktop, for the window and the command line.
msgid ""
msgstr ""
"Project-Id-Version: oma-desktop\\n"
"Language: zh_CN\\n"
"Plural-Forms: nplurals=1; plural=0;\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"

"""
ENDS = {".": "。", "?": "？", ":": "：", "…": "…"}
"""How a sentence ends, and how its Chinese must end."""
_FILLED = re.compile(r"%(?:\(\w+\))?[srd]")  # places argparse fills
_ACCELERATOR = re.compile(r"(?<!&)&(\w)")


def extract() -> Catalog:
    """Collect every marked sentence of the package."""
    catalog = Catalog(domain="oma", charset="utf-8", fuzzy=False)
    for name, sentence in _marked():
        catalog.add(sentence, None, [(f"oma_desktop/{name}", 0)])
    return catalog


@cache
def _marked() -> tuple[tuple[str, str | tuple[str, ...]], ...]:
    """Return file and sentence of every mark; reading all sources takes a second."""
    found = extract_from_dir(SOURCE, method_map=[("**.py", "python")], keywords=KEYWORDS)
    return tuple((name.replace("\\", "/"), sentence) for name, _, sentence, _, _ in found)


def read() -> Catalog:
    """Read the Chinese catalogue; an empty one when there is none yet."""
    text = PO.read_bytes() if PO.exists() else HEADER.encode()
    return read_po(io.BytesIO(text), locale="zh_CN", domain="oma")


def merge(catalog: Catalog) -> Catalog:
    """Add new sentences, drop vanished ones, never guess a translation."""
    catalog.update(extract(), no_fuzzy_matching=True)
    catalog.obsolete.clear()
    for message in catalog:
        message.locations = sorted(set(message.locations))
    return catalog


def render(catalog: Catalog) -> bytes:
    """Return the bytes of the `.po` file: the same for the same sentences, on every machine."""
    body = io.BytesIO()
    write_po(
        body,
        catalog,
        width=0,
        sort_output=True,
        omit_header=True,
        include_lineno=False,
        ignore_obsolete=True,
    )
    return HEADER.encode() + body.getvalue().lstrip(b"\n")


def texts(value: object) -> list[str]:
    """Return the one text of a message, or its plural forms."""
    return [value] if isinstance(value, str) else list(value) if value else []  # type: ignore[call-overload]


def places(text: str) -> set[str]:
    """Return the named places of a sentence; ValueError for stray or nameless braces."""
    names = {name for _, name, _, _ in Formatter().parse(text) if name is not None}
    if not all(name.isidentifier() for name in names):
        raise ValueError(text)
    return names


def accelerator(text: str) -> str:
    """Return the key after the one `&` of a menu entry, in upper case; empty without one."""
    keys = _ACCELERATOR.findall(text)
    return keys[0].upper() if len(keys) == 1 else ""


def problems(catalog: Catalog) -> list[str]:
    """Name every sentence not extracted, missing, unused, untranslated or unlike its source."""
    wanted = extract()
    found = list(unmarked(wanted))
    for source in wanted:
        if source.id:
            original = texts(source.id)[-1]
            found += [f"{p}: {original!r}" for p in _problems(source, catalog.get(source.id))]
    found += [f"unused: {texts(m.id)[0]!r}" for m in catalog if m.id and m.id not in wanted]
    return found


def _problems(source: Message, message: Message | None) -> Iterator[str]:
    if message is None or texts(message.id) != texts(source.id):
        yield "missing"
        return
    translations = texts(message.string)
    if not translations or not all(translations):
        yield "untranslated"
        return
    if len(translations) != 1:
        yield "more than the one form of Chinese"
        return
    # Chinese has one form, which must serve every number: the plural is the measure.
    yield from differences(texts(source.id)[-1], translations[0])


def differences(original: str, translation: str) -> Iterator[str]:
    """Name in which way a translation is not of the same kind as its original."""
    try:
        if places(original) != places(translation):
            yield f"other places in {translation!r}"
    except ValueError:
        yield f"braces that are no named place, here or in {translation!r}"
    if sorted(_FILLED.findall(original)) != sorted(_FILLED.findall(translation)):
        yield f"other places in {translation!r}"
    key = accelerator(original)
    shown = f"(&{key})" if key else ""
    if key and shown not in translation.rstrip("…"):
        yield f"no accelerator {shown} in {translation!r}"
    if not key and accelerator(translation):
        yield f"an accelerator of its own in {translation!r}"
    for end, chinese in ENDS.items():
        if original.endswith(end) != translation.endswith(chinese):
            yield f"another end in {translation!r}"
    if _margins(original) != _margins(translation):
        yield f"other spaces around {translation!r}"


def _margins(text: str) -> tuple[int, int]:
    return len(text) - len(text.lstrip()), len(text) - len(text.rstrip())


def unmarked(marked: Catalog) -> Iterator[str]:
    """Name calls whose sentence Babel cannot collect: put together at run time, or overlooked."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                for sentence in node.args[: N_SENTENCES.get(node.func.id, 0)]:
                    if isinstance(sentence, GLUED) or (
                        isinstance(sentence, ast.Constant) and sentence.value not in marked
                    ):
                        yield f"not extracted: {path.relative_to(ROOT)}:{node.lineno}"


def update() -> int:
    """Bring the file up to date and say how many sentences wait for their Chinese."""
    catalog = merge(read())
    PO.parent.mkdir(parents=True, exist_ok=True)
    PO.write_bytes(render(catalog))
    missing = [p for p in problems(catalog) if p.startswith("untranslated")]
    print(f"{PO.relative_to(ROOT)}: {len(catalog)} sentences, {len(missing)} without Chinese")
    return 0


def check() -> int:
    """Print every problem; exit 1 when there is one."""
    found = problems(read())
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit({"update": update, "check": check}[sys.argv[1]]())
