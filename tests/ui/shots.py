"""Draws the main window with hand-made data, for a person to look at.

`python tests/ui/shots.py FOLDER`; never compared byte for byte (house.md 2.8).
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("QT_API", "pyside6")
sys.path.insert(0, str(Path(__file__).parents[2]))

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from oma_desktop.ui import theme as themes
from oma_desktop.ui.approval_inbox import InboxPanel
from oma_desktop.ui.main_window import MainWindow
from oma_desktop.viewmodel.approvals import Inbox
from oma_desktop.viewmodel.feed import Feed, LiveActivity, LiveRun, Notice
from oma_desktop.viewmodel.selection import Place, Selection
from tests.ui import scenes


def make_window(stores, *, feed=None, **parts):
    feed, commands, selection = feed or Feed(), scenes.Recorder(), Selection()
    window = MainWindow(feed, commands, selection, clock=scenes.FixedClock(), **parts)
    window.kept = (feed, commands, selection)
    for store in stores:
        feed.put(store)
    return window


def full_window(**parts):
    feed = Feed()
    inbox = InboxPanel(Inbox(feed), clock=scenes.FixedClock())
    window = make_window(scenes.all_stores(), feed=feed, inbox=inbox, **parts)
    feed, _, selection = window.kept
    feed.set_live((LiveRun(scenes.MAIN),))
    window.set_watched(("/home/op/runs/supply",))
    selection.select(Place(scenes.MAIN, "t10", "c4"))
    window.tabs.setCurrentWidget(window.conversation_view)
    feed.conversation_loaded.emit((scenes.MAIN, scenes.conversation()))
    piece = "Six suppliers are above 45 days, four of them ship through"
    feed.activity.emit(LiveActivity(scenes.MAIN, "t10", "text", piece))
    return window


def settle(window):
    """Lay out and draw without a nested event loop."""
    window.show()
    window.conversation_view._draw()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
    window.grab()
    window.conversation_view._draw()


def shoot(window, path):
    settle(window)
    window.grab().save(str(path))


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    app = QApplication.instance() or QApplication([])
    host = themes.install(app, "light")
    for name, scheme, language, density, scale in (
        ("main-light", "light", "en", "normal", 1.0),
        ("main-dark", "dark", "en", "normal", 1.0),
        ("main-contrast", "contrast", "en", "normal", 1.0),
        ("main-zh", "light", "zh_CN", "normal", 1.0),
        ("main-compact", "light", "en", "compact", 1.0),
        ("main-150", "light", "en", "roomy", 1.5),
        ("main-200", "light", "zh_CN", "normal", 2.0),
    ):
        host.set_scheme(scheme)
        host.set_density(density)
        host.set_scale(scale)
        window = full_window()
        if language != "en":
            window._look.set_language(language)
        if name == "main-200":
            window.resize(1440, 900)
        if name == "main-light":
            window.kept[0].notice.emit(Notice("warning", "test.code", {}))
        shoot(window, folder / f"{name}.png")
        page = window.conversation_view.page
        page.verticalScrollBar().setValue(page.verticalScrollBar().maximum())
        window.runs_panel.list.setFocus()
        window.grab().save(str(folder / f"{name}-end.png"))
        if language != "en":
            window._look.set_language("en")
        window.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    host.set_scale(1.0)
    host.set_density("normal")
    for scheme in ("light", "dark"):
        host.set_scheme(scheme)
        window = make_window([])
        window.show()
        window.activateWindow()
        window.first_start.cards[0].button.setFocus()
        shoot(window, folder / f"first-{scheme}.png")
        window.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    host.set_scheme("light")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
