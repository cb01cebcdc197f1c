"""What a model may be asked beyond Qt's own roles. Delegates read these, never text."""

from __future__ import annotations

from enum import IntEnum

from PySide6.QtCore import Qt


class Role(IntEnum):
    """Item data roles of every table of this program."""

    ROW = int(Qt.ItemDataRole.UserRole) + 1  # the whole frozen row value
    KEY = int(Qt.ItemDataRole.UserRole) + 2  # what names the row through changes
    SORT = int(Qt.ItemDataRole.UserRole) + 3  # a value to sort a column by
