"""Pictures by meaning: our own state shapes, general icons from Phosphor, the application icon.

Icons never carry a state; states are ours (look.md 5, 6). Tinted pixmaps are kept by name, size,
colour role, scheme and device pixel ratio.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Final

import qtawesome
from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer
from qtawesome.iconic_font import IconicFont

from oma_desktop.ui import states
from oma_desktop.ui.theme import Theme, theme

_SET: Final = "ph"
_STATE_SIZES: Final = (12, 16, 20)

# Meaning (look.md 6) -> name in the Phosphor set of QtAwesome
ICONS: Final[dict[str, str]] = {
    "map": "ph.tree-structure",
    "time": "ph.chart-bar-horizontal",
    "outline": "ph.list-dashes",
    "conversation": "ph.chats",
    "journal": "ph.article",
    "snapshots": "ph.clock-counter-clockwise",
    "problems": "ph.warning",
    "inbox": "ph.tray",
    "review": "ph.shield-warning",
    "hash.ok": "ph.shield-check",
    "bound": "ph.lock",
    "unbound": "ph.lock-open",
    "new": "ph.plus",
    "restore": "ph.arrow-counter-clockwise",
    "suspend": "ph.pause",
    "cancel": "ph.square",
    "sample": "ph.play-circle",
    "play": "ph.play",
    "skip": "ph.skip-forward",
    "search": "ph.magnifying-glass",
    "filter": "ph.funnel-simple",
    "clear": "ph.x",
    "save.filter": "ph.push-pin",
    "zoom.in": "ph.magnifying-glass-plus",
    "zoom.out": "ph.magnifying-glass-minus",
    "fit": "ph.corners-out",
    "locate": "ph.crosshair",
    "agent": "ph.robot",
    "model": "ph.brain",
    "tool": "ph.wrench",
    "terminal": "ph.terminal",
    "message": "ph.chat",
    "tool.result": "ph.arrow-elbow-down-left",
    "status": "ph.record",
    "plan": "ph.git-branch",
    "checkpoint": "ph.bookmark-simple",
    "swap": "ph.arrows-left-right",
    "compare": "ph.git-diff",
    "fork": "ph.git-fork",
    "gap": "ph.link-break",
    "world": "ph.globe",
    "read.only": "ph.eye",
    "hidden": "ph.eye-slash",
    "person": "ph.user",
    "key": "ph.key",
    "this.app": "ph.app-window",
    "other.process": "ph.cpu",
    "no.writer": "ph.lightning-slash",
    "not.known": "ph.question",
    "connect": "ph.share-network",
    "folder": "ph.folder",
    "open": "ph.folder-open",
    "folder.add": "ph.folder-plus",
    "file": "ph.file-text",
    "json": "ph.brackets-curly",
    "copy": "ph.copy",
    "open.outside": "ph.arrow-square-out",
    "export": "ph.download-simple",
    "import": "ph.upload-simple",
    "save": "ph.floppy-disk",
    "link": "ph.link",
    "archive": "ph.archive",
    "delete": "ph.trash",
    "edit": "ph.pencil-simple",
    "mark": "ph.star",
    "error": "ph.warning-circle",
    "warning": "ph.warning",
    "info": "ph.info",
    "help": "ph.question",
    "live": "ph.broadcast",
    "image": "ph.image",
    "more.lines": "ph.caret-double-down",
    "memory": "ph.database",
    "disk": "ph.hard-drive",
    "layers": "ph.stack",
    "money": "ph.currency-circle-dollar",
    "settings": "ph.gear",
    "keyboard": "ph.keyboard",
    "language": "ph.translate",
    "bell": "ph.bell",
    "light": "ph.sun",
    "dark": "ph.moon",
    "contrast": "ph.circle-half",
    "refresh": "ph.arrows-clockwise",
    "chevron.down": "ph.caret-down",
    "chevron.right": "ph.caret-right",
    "chevron.left": "ph.caret-left",
    "chevron.up": "ph.caret-up",
    "back": "ph.arrow-left",
    "forward": "ph.arrow-right",
    "jump.end": "ph.arrow-line-down",
    "more": "ph.dots-three",
    "check": "ph.check",
}


def state_pixmap(name: str, size: int = 16, role: str | None = None, dpr: float = 1.0) -> QPixmap:
    """Return a state shape `size` logical pixels wide in the colour of its state.

    `name` is the value of a state of `model.view`; `role` replaces the state's own colour. KeyError
    for an unknown name.
    """
    states.shape_role(name)
    now = theme()
    return _state_pixmap(name, size, role or states.shape_role(name), now.scheme, dpr)


@lru_cache(maxsize=1024)
def _state_pixmap(name: str, size: int, role: str, scheme: str, dpr: float) -> QPixmap:
    now = theme()
    assert now.scheme == scheme
    svg = _state_svg(name, min(_STATE_SIZES, key=lambda s: abs(s - size)))
    tinted = (
        svg.replace("currentColor", now.hex(role))
        .replace("#fefefe", now.hex(_ink_role(name)))
        .replace("#020202", now.hex("state.needsyou.edge"))
    )
    return _render(tinted.encode(), size, dpr)


def _ink_role(name: str) -> str:
    return "state.needsyou.ink" if name == "needsyou" else "surface"


@cache
def _state_svg(name: str, size: int) -> str:
    file = resources.files("resources") / "icons" / "states" / f"{name}-{size}.svg"
    return file.read_text("utf-8")


def _render(svg: bytes, size: int, dpr: float) -> QPixmap:
    renderer = QSvgRenderer(QByteArray(svg))
    pixels = max(1, round(size * dpr))
    pixmap = QPixmap(pixels, pixels)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    renderer.render(painter, QRectF(0, 0, pixels, pixels))
    painter.end()
    pixmap.setDevicePixelRatio(dpr)
    return pixmap


def state_icon(name: str, size: int = 16, dpr: float = 1.0) -> QIcon:
    """Return a state shape as an icon."""
    return QIcon(state_pixmap(name, size=size, dpr=dpr))


def icon(meaning: str, role: str = "text.2", disabled_role: str = "text.disabled") -> QIcon:
    """Return a general icon in the colour of a role; KeyError for an unknown meaning."""
    return _icon(meaning, role, disabled_role, theme().scheme)


@cache
def _phosphor() -> IconicFont:
    """The one set we use. QtAwesome by itself reads all twelve: 70 ms of the start."""
    folder = Path(qtawesome.get_fonts_info()[0])
    font = next(folder.glob("phosphor-*.ttf"))
    names = next(folder.glob("phosphor-charmap-*.json"))
    return IconicFont((_SET, font.name, names.name, str(folder)))


@lru_cache(maxsize=512)
def _icon(meaning: str, role: str, disabled_role: str, scheme: str) -> QIcon:
    now = theme()
    assert now.scheme == scheme
    made: QIcon = _phosphor().icon(
        ICONS[meaning], color=now.hex(role), color_disabled=now.hex(disabled_role)
    )
    return made


def icon_pixmap(meaning: str, size: int = 16, role: str = "text.2", dpr: float = 1.0) -> QPixmap:
    """Return a general icon as a pixmap for delegates."""
    return _icon_pixmap(meaning, size, role, theme().scheme, dpr)


@lru_cache(maxsize=1024)
def _icon_pixmap(meaning: str, size: int, role: str, scheme: str, dpr: float) -> QPixmap:
    assert theme().scheme == scheme
    return icon(meaning, role=role).pixmap(QSize(size, size), dpr)


_APP_SIZES: Final = (16, 20, 24, 32, 48, 64, 128, 256, 512)


@cache
def app_icon() -> QIcon:
    """Return the application icon in all its sizes."""
    made = QIcon()
    folder = resources.files("resources") / "icons" / "app"
    for size in _APP_SIZES:
        with resources.as_file(folder / f"oma-desktop-{size}.png") as file:
            made.addFile(str(Path(file)), QSize(size, size))
    return made


def clear_caches(_theme: Theme | None = None) -> None:
    """Forget all tinted pictures; keys hold the scheme, so this only frees memory."""
    for cached in (_state_pixmap, _icon, _icon_pixmap):
        cached.cache_clear()
