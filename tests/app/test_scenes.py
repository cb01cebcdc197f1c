"""The runs that pictures show are real ones, in the states their names say."""

from oma_desktop.app.scenes import SceneMaker
from oma_desktop.base.clock import SystemClock
from oma_desktop.model.checkfile import check_document
from oma_desktop.model.view import RunState, TaskState
from tests.app.support import until


async def test_every_scene_is_what_it_is_called(bench, tmp_path):
    maker = SceneMaker(
        tmp_path / "runs",
        clock=SystemClock(),
        supervisor=bench.session._supervisor,
        lanes=bench.session._lanes,
    )
    scenes = await maker.make()
    bench.session.open_paths([str(scenes.folder)])
    await until(lambda: len(bench.feed.stores()) == 6)
    runs = {store.path: store.runs[0] for store in bench.feed.stores()}

    def state(path):
        return runs[str(path)].state

    assert state(scenes.suspended) is RunState.SUSPENDED
    assert state(scenes.interrupted) is RunState.INTERRUPTED
    assert state(scenes.finished) is RunState.OK
    planned = bench.feed.store(str(scenes.planned))
    assert [a.scope for a in planned.approvals] == ["plan"]
    assert state(scenes.planned) is RunState.SUSPENDED
    repaired = runs[str(scenes.repaired)]
    assert (repaired.state, repaired.plan_revision) == (RunState.OK, 1)
    assert [t.state for t in repaired.tasks].count(TaskState.REPLACED) == 3
    live = check_document(scenes.live.read_bytes(), name=str(scenes.live))
    assert (live.kind, list(live.problems)) == ("run", [])
