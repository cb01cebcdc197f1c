"""The short facts around the exact text: those the hash covers, the hash itself, the context."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QWidget
from typing_extensions import override

from oma_desktop.base.text import tr
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.visible_text import marks
from oma_desktop.ui.flow import FlowLayout
from oma_desktop.ui.review_header import plain
from oma_desktop.ui.review_parts import ElidedText, Panel, Picture, Text
from oma_desktop.ui.theme import theme, theme_host
from oma_desktop.viewmodel.approvals import RequestRow
from oma_desktop.viewmodel.review import CODE_LENGTH

TOOL_FACTS = ("toolName", "agentName", "taskId", "toolCallId")
TOOL_KEYS = frozenset({*TOOL_FACTS, "kind", "rawInput", "input", "consequential"})
SHORT = 40
"""Facts longer than this are read in the exact text, where nothing is cut."""


def facts_fit(content: JsonObject, boundary: str) -> bool:
    """Say whether the grid can show everything of a tool call but its input, unshortened.

    The boundary of a call is its task and its id with a colon between: both stand beside it.
    """
    values = [content.get(key) for key in TOOL_FACTS]
    return (
        content.keys() == TOOL_KEYS
        and content.get("kind") == "tool_call"
        and isinstance(content.get("consequential"), bool)
        and all(isinstance(v, str) and _is_short(v) for v in values)
        and (_is_short(boundary) or boundary == f"{content['taskId']}:{content['toolCallId']}")
    )


def _is_short(value: str) -> bool:
    return 0 < len(value) <= SHORT and not marks(value) and "\n" not in value


class Facts(QWidget):
    """Label and value pairs in three columns."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(20, 10, 20, 6)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(4)
        self._cells: list[QWidget] = []
        self._pairs: list[tuple[str, str]] = []
        self._columns = 3
        theme_host().theme_changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def _on_theme_changed(self) -> None:
        for column in (0, 2, 4):
            used = column < 2 * self._columns
            self._grid.setColumnMinimumWidth(column, theme().px(60) if used else 0)
        for column in (1, 3, 5):
            self._grid.setColumnStretch(column, int(column < 2 * self._columns))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        columns = max(1, min(3, self.width() // theme().px(300)))
        if columns != self._columns:
            self._columns = columns
            self._on_theme_changed()
            self.show_pairs(self._pairs)

    def show_pairs(self, pairs: list[tuple[str, str]]) -> None:
        """Show the pairs row by row, in as many columns as fit."""
        self._pairs = pairs
        for cell in self._cells:
            cell.hide()
            cell.deleteLater()
        self._cells = []
        for i, (label, value) in enumerate(pairs):
            row, column = divmod(i, self._columns)
            name = Text(label, use="secondary", role="text.muted")
            shown = ElidedText(use="mono")
            shown.set_whole(value)
            shown.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            shown.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self._grid.addWidget(name, row, column * 2)
            self._grid.addWidget(shown, row, column * 2 + 1)
            self._cells += [name, shown]


def covered_pairs(row: RequestRow) -> list[tuple[str, str]]:
    """Return the covered facts; long or odd ones are in the exact text below as well."""
    content, boundary = row.request.content, plain(row.request.boundary)
    if row.request.scope != "tool_call":
        pairs = [(tr("Kind"), plain(row.request.scope)), (tr("Boundary"), boundary)]
        if "continuation" in content:
            pairs.append((tr("Afterwards"), plain(str(content["continuation"]))))
        return pairs
    acts = tr("yes") if content.get("consequential") is True else tr("no")
    return [
        (tr("Tool"), plain(str(content.get("toolName", "")))),
        (tr("Agent"), plain(str(content.get("agentName", "")))),
        (tr("Task"), plain(str(content.get("taskId", "")))),
        (tr("Call"), plain(str(content.get("toolCallId", "")))),
        (tr("Boundary"), boundary),
        (tr("Marked"), tr("consequential: {answer}", answer=acts)),
    ]


class HashLine(QWidget):
    """The hash in groups of four, its first group being the code, and how it was checked."""

    def __init__(self) -> None:
        super().__init__()
        self._label = Text(use="secondary", role="text.muted")
        self.code = Text(use="mono.strong")
        code = Panel(ground="sunken", line="sunken", box=True)
        inner = QHBoxLayout(code)
        inner.setContentsMargins(5, 1, 5, 1)
        inner.addWidget(self.code)
        self.rest = Text(use="mono")
        self.rest.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._local, self._checkpoint = _Check(), _Check()
        row = FlowLayout(self, spacing=8)
        row.setContentsMargins(20, 8, 20, 8)
        for part in (self._label, code, self.rest, self._local, self._checkpoint):
            row.addWidget(part)
        self._label.setMinimumWidth(theme().px(64))

    def refresh(self, row: RequestRow) -> None:
        """Show the hash of the request and both comparisons."""
        whole = row.request.request_hash
        groups = [whole[i : i + 4] for i in range(0, len(whole), 4)]
        self._label.setText(tr("Hash"))
        self.code.setText(whole[:CODE_LENGTH])
        self.rest.setText(" ".join([*groups[1:4], "…", groups[-1]]) if groups else "")
        self.rest.setToolTip(whole)
        self.setAccessibleName(tr("Hash {hash}", hash=whole))
        self.setToolTip(
            tr(
                "The hash proves that the content is the reviewed one. It does not prove who wrote"
                " it. Approving means this exact input may run; after a crash the engine may run"
                " it again on this decision."
            )
        )
        self._local.show_check(
            row.request.hash_matches,
            tr("recomputed here, same"),
            tr("recomputed here, different"),
        )
        self._checkpoint.show_check(
            row.request.matches_checkpoint,
            tr("same as in the checkpoint"),
            tr("differs from the checkpoint"),
            tr("no checkpoint to compare with"),
        )


class _Check(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self._picture = Picture(state="saved", size=12)
        self._text = Text(use="state")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(self._picture)
        row.addWidget(self._text)

    def show_check(self, ok: bool | None, yes: str, no: str, unknown: str = "") -> None:
        """Show the outcome of one comparison."""
        self._picture.show_state({True: "saved", False: "savederror", None: "waiting"}[ok])
        self._text.setText({True: yes, False: no, None: unknown}[ok])
        self._text.set_role({True: "state.done.text", False: "danger.text", None: "text.muted"}[ok])
