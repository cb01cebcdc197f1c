"""Every code that is raised or reported has a sentence (house.md 2.6)."""

import re
from pathlib import Path

from oma_desktop.base.sentences import catalogue, describe

PACKAGE = Path(__file__).parents[2] / "oma_desktop"
RAISED = re.compile(
    r"(?:InvalidInput|NotAllowed|NotFound|Corrupt|SchemaTooNew|WriteFailed|Locked|Conflict|ChangedOnDisk"
    r"|StaleDecision|AlreadyDecided|IntegrityMismatch|ApprovalInvalid|ApprovalNotFound"
    r"|AtomicStoreRequired|PlanRejected|WatchUnavailable|OmaError|Problem)\(\s*\"([A-Z][A-Z0-9_]+)\""
)


def test_every_code_has_a_sentence():
    codes = set()
    for path in PACKAGE.rglob("*.py"):
        codes |= set(RAISED.findall(path.read_text(encoding="utf-8")))
    assert codes
    assert sorted(codes - set(catalogue())) == []


def test_an_unknown_code_is_still_a_sentence():
    assert "NO_SUCH_CODE" in describe("NO_SUCH_CODE", {}).title
