"""Rules of durable approvals (formats.md 3): one door to their forms and their binding."""

from __future__ import annotations

from oma_desktop.model.approval_binding import (
    check_request,
    check_same_decision,
    check_same_request,
    rebuild_content,
)
from oma_desktop.model.approval_forms import (
    PLAN_BOUNDARY,
    SCOPES,
    check_reviewer,
    create_request,
    make_decision,
    parse_row,
    request_hash,
    request_id,
    validate_decision,
    validate_request,
    validate_row,
)

__all__ = [
    "PLAN_BOUNDARY",
    "SCOPES",
    "check_request",
    "check_reviewer",
    "check_same_decision",
    "check_same_request",
    "create_request",
    "make_decision",
    "parse_row",
    "rebuild_content",
    "request_hash",
    "request_id",
    "validate_decision",
    "validate_request",
    "validate_row",
]
