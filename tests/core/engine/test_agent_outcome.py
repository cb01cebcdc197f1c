"""What a failure leaves in results and files (engine.md 1.9)."""

from oma_desktop.engine.agents.agent_outcome import error_info
from oma_desktop.engine.backends.faults import BackendFailed
from oma_desktop.engine.tasks.task_work import fault
from oma_desktop.model.errors import Refused


def test_a_key_repeated_by_the_endpoint_is_masked_before_it_is_stored():
    error = Refused(
        "LLM_REFUSED", message="Incorrect API key provided: sk-abcdefghijklmnopqrstuvwx"
    )
    assert "sk-abc" not in error_info(error).message
    assert "[redacted]" in error_info(error).message


def test_a_key_in_what_a_program_said_last_is_masked_before_it_is_stored():
    error = BackendFailed(
        "BACKEND_EXIT",
        command="tool",
        status=1,
        said="refused: api_key=sk-abcdefghijklmnopqrstuvwx",
    )
    for message in (error_info(error).message, fault(error).error_info.message):
        assert "refused" in message
        assert "sk-abc" not in message
