"""What a failure leaves in results and files (engine.md 1.9)."""

from oma_desktop.engine.agent_outcome import error_info
from oma_desktop.model.errors import Refused


def test_a_key_repeated_by_the_endpoint_is_masked_before_it_is_stored():
    error = Refused(
        "LLM_REFUSED", message="Incorrect API key provided: sk-abcdefghijklmnopqrstuvwx"
    )
    assert "sk-abc" not in error_info(error).message
    assert "[redacted]" in error_info(error).message
