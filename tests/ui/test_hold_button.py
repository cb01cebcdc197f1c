"""Only an uninterrupted press that began while armed counts (ux.md C7)."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from oma_desktop.ui.hold_button import HOLD_S, HoldButton
from tests.viewmodel.review_world import HandClock

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")  # offscreen


class Press:
    def __init__(self, button, clock):
        self.button, self.clock, self.held, self.once = button, clock, [], []
        button.held.connect(self.on_held)
        button.pressed_once.connect(self.on_once)

    def on_held(self):
        self.held.append(self.clock.at)

    def on_once(self):
        self.once.append(self.clock.at)

    def arm(self, *, armed=True, needs_hold=True):
        self.button.set_state(
            armed=armed,
            reason="" if armed else "Read to the end",
            label="Go",
            needs_hold=needs_hold,
        )

    def down(self):
        QTest.mousePress(self.button, Qt.MouseButton.LeftButton)

    def up(self):
        QTest.mouseRelease(self.button, Qt.MouseButton.LeftButton)

    def wait(self, seconds):
        self.clock.at += seconds
        self.button._on_frame()


@pytest.fixture
def press(host, qtbot):
    window, clock = QWidget(), HandClock()
    column = QVBoxLayout(window)
    button = HoldButton(clock=clock)
    other = QLineEdit()
    column.addWidget(other)
    column.addWidget(button)
    window.other = other
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    press = Press(button, clock)
    press.arm()
    yield press
    press.wait(HOLD_S)
    press.wait(HOLD_S)
    window.close()
    window.deleteLater()


def test_held_to_the_end(press):
    press.down()
    press.wait(HOLD_S - 0.01)
    assert press.held == []
    press.wait(0.02)
    assert len(press.held) == 1
    press.up()
    press.wait(5)
    assert len(press.held) == 1


def test_a_click_and_a_double_click_do_nothing(press):
    QTest.mouseClick(press.button, Qt.MouseButton.LeftButton)
    QTest.mouseDClick(press.button, Qt.MouseButton.LeftButton)
    press.wait(HOLD_S * 2)
    assert (press.held, press.once) == ([], [])


def test_short_presses_do_not_add_up(press):
    for _ in range(5):
        press.down()
        press.wait(HOLD_S * 0.9)
        press.up()
        press.wait(0.01)
    assert press.held == []


def test_a_press_that_began_unarmed_never_counts(press):
    press.arm(armed=False)
    press.down()
    press.arm()
    press.wait(HOLD_S * 2)
    assert press.held == []


def test_losing_the_arm_empties_it(press):
    press.down()
    press.wait(0.6)
    press.arm(armed=False)
    press.arm()
    press.wait(HOLD_S)
    assert press.held == []


def test_leaving_with_the_pointer_empties_it(press):
    press.down()
    press.wait(0.6)
    QTest.mouseMove(press.button, press.button.rect().bottomRight() * 3)
    press.wait(HOLD_S)
    assert press.held == []


def test_space_held_counts_enter_does_not(press):
    press.button.setFocus()
    QTest.keyPress(press.button, Qt.Key.Key_Return)
    press.wait(HOLD_S * 2)
    QTest.keyRelease(press.button, Qt.Key.Key_Return)
    assert press.held == []
    QTest.keyPress(press.button, Qt.Key.Key_Space)
    press.wait(HOLD_S + 0.01)
    assert len(press.held) == 1


def test_losing_the_focus_empties_it(press):
    press.button.setFocus()
    QTest.keyPress(press.button, Qt.Key.Key_Space)
    press.wait(0.6)
    press.button.window().other.setFocus()
    press.wait(HOLD_S)
    assert press.held == []


def test_a_plain_button_acts_on_release(press):
    press.arm(needs_hold=False)
    press.down()
    assert press.once == []
    press.up()
    assert len(press.once) == 1
    assert press.held == []


def test_a_click_gives_no_focus_so_space_stays_harmless(press):
    press.button.window().other.setFocus()
    QTest.mouseClick(press.button, Qt.MouseButton.LeftButton)
    assert press.button.window().other.hasFocus()


def test_the_reason_is_on_the_button_and_in_its_description(press):
    press.arm(armed=False)
    assert press.button.reason == "Read to the end"
    assert press.button.accessibleDescription() == "Read to the end"
