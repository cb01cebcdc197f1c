import pytest

from tests.core.engine.builtin.tool_world import ToolWorld


@pytest.fixture
def box(tmp_path):
    """Tools in an existing workspace `ws`; beside it lies `outside` with a secret."""
    root = tmp_path / "ws"
    root.mkdir()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret\n", encoding="utf-8")
    world = ToolWorld(root)
    world.outside = outside
    yield world
    world.close()
