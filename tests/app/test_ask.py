"""Case s25: questions on the product's loop stop nobody, and closing one decides nothing."""

import asyncio

import pytest
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from oma_desktop.base.supervisor import Supervisor
from oma_desktop.ui.ask import NO_DECISION, ask

YES = QDialog.DialogCode.Accepted


class Streams:
    """Three tasks that tick like models that stream."""

    def __init__(self, n=3):
        self.ticks = [0] * n
        self.more = asyncio.Event()

    async def run(self, i):
        while True:
            await asyncio.sleep(0.005)
            self.ticks[i] += 1
            self.more.set()

    async def keep_flowing(self, n=5):
        """Return when each stream has ticked `n` more times."""
        goal = [t + n for t in self.ticks]
        async with asyncio.timeout(5):
            while any(t < g for t, g in zip(self.ticks, goal, strict=True)):
                self.more.clear()
                await self.more.wait()


@pytest.fixture
async def supervisor():
    failures = []
    supervisor = Supervisor(on_failure=lambda name, error: failures.append((name, error)))
    yield supervisor
    await supervisor.close()
    assert not failures


@pytest.fixture
async def streams(supervisor):
    streams = Streams()
    for i in range(3):
        supervisor.spawn(streams.run(i), name=f"stream {i}")
    return streams


@pytest.fixture
async def window():
    window = QWidget()
    window.show()
    yield window
    window.close()
    window.deleteLater()


async def test_tasks_go_on_while_a_question_is_open(supervisor, streams, window):
    dialog = QDialog(window)
    asking = supervisor.spawn(ask(dialog), name="ask")
    await streams.keep_flowing()
    assert dialog.isVisible()
    assert not asking.done()
    dialog.accept()
    assert await asking == YES
    await streams.keep_flowing()


async def test_two_questions_at_once_are_both_answerable(supervisor, streams, window):
    first, second = QDialog(window), QDialog(window)
    answers = [supervisor.spawn(ask(d), name="ask") for d in (first, second)]
    await streams.keep_flowing()
    first.accept()
    assert await answers[0] == YES
    assert not answers[1].done()
    second.reject()
    assert await answers[1] == NO_DECISION


async def test_closing_the_question_is_no_decision(supervisor, streams, window):
    dialog = QDialog(window)
    asking = supervisor.spawn(ask(dialog), name="ask")
    await streams.keep_flowing(1)
    dialog.close()
    assert await asking == NO_DECISION


async def test_a_question_that_dies_with_its_window_is_no_decision(supervisor, streams):
    window = QWidget()
    asking = supervisor.spawn(ask(QDialog(window)), name="ask")
    await streams.keep_flowing(1)
    window.deleteLater()
    assert await asking == NO_DECISION
    await streams.keep_flowing()


async def test_cancelling_the_asker_closes_the_question(supervisor, streams, window):
    dialog = QDialog(window)
    asking = supervisor.spawn(ask(dialog), name="ask")
    await streams.keep_flowing(1)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await streams.keep_flowing(1)
    assert not any(w.isVisible() for w in QApplication.topLevelWidgets() if isinstance(w, QDialog))


async def test_fields_can_be_read_after_the_answer(supervisor, window):
    dialog = QDialog(window)
    dialog.setWindowTitle("kept")

    async def person():
        result = await ask(dialog)
        return result, dialog.windowTitle()

    asking = supervisor.spawn(person(), name="person")
    await asyncio.sleep(0)
    dialog.accept()
    assert await asking == (YES, "kept")
