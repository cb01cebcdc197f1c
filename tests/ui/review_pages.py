"""One page object for the review window: what a reader sees and does."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from oma_desktop.ui.approval_review import ReviewWindow
from oma_desktop.ui.hold_button import HOLD_S
from tests.viewmodel.review_world import World


class _Still:
    """Stands for an outer scroll area that has nothing left to scroll."""

    def widget(self):
        return None

    def ensureVisible(self, *_):
        pass


class ReviewPage:
    """A window over a small world. Time moves only by `wait`."""

    def __init__(self, qtbot, *requests, undo_s=5.0, world=None, request_id=None, by_user=True):
        self.qtbot = qtbot
        self.world = world or World(*requests)
        self.model = self.world.model(request_id or requests[0].id, undo_s=undo_s)
        self.window = ReviewWindow(self.model)
        self.is_closed = False
        self.window.closed.connect(self._on_closed)
        if by_user:
            self.window.open_by_user()
        else:
            self.window.show()
            self.window.activateWindow()
        qtbot.waitUntil(self.window.isActiveWindow)

    @property
    def handle(self):
        return self.window.windowHandle()

    @property
    def decided(self):
        return [(d.request_id, d.verdict) for d in self.world.commands.decided]

    @property
    def bar(self):
        return self.model.review.bar("approve", self.model.now)

    def wait(self, seconds):
        self.world.clock.at += seconds
        self.model.tick()
        self.window.footer.approve._on_frame()

    def painted(self):
        """Let the window lay out and paint what is due."""
        self.qtbot.wait(30)

    # -- acts --------------------------------------------------------------------------------

    def read(self):
        """Scroll through everything, as a reader does, and return the text seen on the way."""
        view, seen = self.window.body.text, []
        for page in range(view.n_pages):
            self.painted()
            self.qtbot.waitUntil(lambda: view.text.is_filled)
            self.painted()
            seen.append(view.text.toPlainText())
            bar = view.text.verticalScrollBar()
            outer = self.window.scroller
            while True:
                for part in (0, view.height()):
                    if isinstance(outer, _Still):
                        break
                    spot = view.mapTo(outer.widget(), QPoint(0, part))
                    outer.ensureVisible(0, spot.y(), 0, 0)
                    view.text.viewport().repaint()
                if view.visibleRegion().boundingRect().height() >= view.height():
                    outer = _Still()
                if bar.value() >= bar.maximum():
                    break
                bar.setValue(bar.value() + max(bar.pageStep() - 60, 20))
                view.text.viewport().repaint()
            if page + 1 < view.n_pages:
                view._on_next()
        self.painted()
        return "\n".join(seen)

    def arm(self):
        self.read()
        self.wait(1.1)

    def hold(self, seconds=HOLD_S + 0.05):
        QTest.mousePress(self.window.footer.approve, Qt.MouseButton.LeftButton)
        self.wait(seconds)
        QTest.mouseRelease(self.window.footer.approve, Qt.MouseButton.LeftButton)

    def click_reject(self):
        QTest.mouseClick(self.window.footer.reject, Qt.MouseButton.LeftButton)

    def click_really(self):
        QTest.mouseClick(self.window.footer.really, Qt.MouseButton.LeftButton)

    def keys(self, text):
        """Type into whatever has the focus, through the window as the system does."""
        for char in text:
            key = {"\n": Qt.Key.Key_Return, " ": Qt.Key.Key_Space}.get(char)
            if key is None:
                QTest.keyClick(self.handle, char)
            else:
                QTest.keyClick(self.handle, key)

    def close(self):
        if not self.is_closed:
            self.window.close()

    def _on_closed(self):
        self.is_closed = True
