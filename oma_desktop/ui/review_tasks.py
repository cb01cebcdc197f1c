"""The tasks of a plan, round or dispatch as a list a person can read; the exact text is beside."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from oma_desktop.base.text import N_, named, tr
from oma_desktop.model.json_value import JsonObject
from oma_desktop.ui.review_header import plain
from oma_desktop.ui.review_parts import Panel, Picture, Text
from oma_desktop.ui.theme import theme

_HEADS = {
    "tasks": N_("All tasks of the plan"),
    "completedTasks": N_("Finished"),
    "nextTasks": N_("Starts next"),
    "task": N_("The task"),
}
_SHAPES = {
    "completed": "done",
    "failed": "failed",
    "skipped": "skipped",
    "blocked": "blocked",
    "in_progress": "running",
}


class TaskLists(QScrollArea):
    """One section per list, one card per task."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._inner: QWidget = Panel()
        self.setWidget(self._inner)

    def show_lists(self, lists: tuple[tuple[str, tuple[JsonObject, ...]], ...]) -> None:
        """Show other lists."""
        self._inner = Panel()
        column = QVBoxLayout(self._inner)
        column.setContentsMargins(0, 8, 0, 8)
        column.setSpacing(6)
        titles = {
            str(task.get("id")): str(task.get("title", "")) for _, tasks in lists for task in tasks
        }
        for name, tasks in lists:
            head = tr(_HEADS.get(name, name))
            column.addWidget(Text(f"{head}: {len(tasks)}", use="section", role="text.muted"))
            for task in tasks:
                column.addWidget(_TaskCard(task, titles))
        column.addStretch(1)
        self.setWidget(self._inner)

    def wanted_height(self) -> int:
        """Height that shows the lists without scrolling."""
        width = max(self.viewport().width(), 1)
        layout = self._inner.layout()
        height = layout.heightForWidth(width) if layout is not None else -1
        return max(height, self._inner.sizeHint().height()) + 4

    def least_height(self) -> int:
        """Height below which reading makes no sense."""
        return theme().px(96)


class _TaskCard(Panel):
    def __init__(self, task: JsonObject, titles: dict[str, str]) -> None:
        super().__init__(box=True)
        shape = _SHAPES.get(str(task.get("status")), "waiting")
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(Picture(state=shape, size=16), 0, Qt.AlignmentFlag.AlignTop)
        head.addWidget(Text(plain(str(task.get("title", ""))), use="name", wrap=True), 1)
        assignee = task.get("assignee")
        who = plain(str(assignee)) if assignee is not None else tr("no agent named")
        head.addWidget(Text(who, use="mono", role="text.2"), 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 12, 8)
        column.setSpacing(4)
        column.addLayout(head)
        description = str(task.get("description", ""))
        text = "\n".join(plain(line) for line in description.split("\n"))
        column.addWidget(Text(text, use="secondary", role="text.2", wrap=True))
        needs = task.get("dependsOn")
        if isinstance(needs, list) and needs:
            names = named(plain(titles.get(str(n)) or str(n)) for n in needs)
            column.addWidget(
                Text(
                    tr("needs {tasks}", tasks=names),
                    use="caption",
                    role="text.muted",
                    wrap=True,
                )
            )
