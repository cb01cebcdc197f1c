"""The team description can be read at run time, also with texts pydantic itself would refuse."""

from oma_desktop.model.team import AgentConfig, TaskSpec


def test_json_members_are_taken_as_they_are():
    agent = AgentConfig.model_validate({"name": "a", "outputSchema": {"x": "\ud83d"}})
    assert agent.output_schema == {"x": "\ud83d"}


def test_task_requirements_are_a_typed_dict_pydantic_can_read():
    spec = TaskSpec.model_validate(
        {"title": "t", "description": "", "requires": {"requiredTools": ["bash"]}}
    )
    assert spec.requires == {"requiredTools": ["bash"]}
