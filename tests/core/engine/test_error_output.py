"""What programs write on their standard error takes no more room than its end needs."""

import asyncio
import subprocess
import sys
from contextlib import closing

from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.error_output import LIMIT, TAIL, ErrorOutput, kept_short
from tests.core.engine.run_world import InlineLanes

TALK = """
import sys
for n in range(3):
    sys.stderr.write("x" * 700_000 + f" end {n}\\n")
    sys.stderr.flush()
    sys.stdin.readline()
"""


WRITE = "import os; os.write(2, b'a\\xffz')"


class SteppedClock:
    """A clock whose sleepers are woken by hand."""

    def __init__(self):
        self.due = asyncio.Queue()

    async def sleep(self, _seconds):
        await self.due.get()


def test_a_program_goes_on_writing_at_the_end_after_every_cut():
    with closing(ErrorOutput()) as output:
        process = subprocess.Popen(
            [sys.executable, "-c", TALK], stdin=subprocess.PIPE, stderr=output, text=True
        )
        sizes = []
        for n in range(3):
            while f"end {n}" not in output.tail(20):
                assert process.poll() is None
            output.trim()
            sizes.append(output.size)
            assert output.tail(20).endswith(f"x end {n}\n")
            process.stdin.write("\n")
            process.stdin.flush()
        process.stdin.close()
        process.wait()
        assert sizes[1] == TAIL
        assert max(sizes) <= LIMIT


def test_what_is_short_stays_whole():
    with closing(ErrorOutput()) as output:
        subprocess.run([sys.executable, "-c", WRITE], stderr=output, check=True)
        output.trim()
        assert output.tail(100) == "a\ufffdz"
        assert output.tail(1) == "z"


def test_a_late_look_at_a_closed_file_does_nothing():
    output = ErrorOutput()
    output.close()
    output.trim()


async def test_the_file_is_looked_after_as_long_as_the_block_lasts():
    clock, supervisor, looked = SteppedClock(), Supervisor(), []
    output = ErrorOutput()
    output.trim = lambda: looked.append(1)
    async with kept_short(
        output, clock=clock, lanes=InlineLanes(), supervisor=supervisor, name="errors of x"
    ):
        for _ in range(3):
            clock.due.put_nowait(None)
        while len(looked) < 3:  # noqa: ASYNC110 - the loop only turns
            await asyncio.sleep(0)
    assert supervisor.names == []
    output.close()
    await supervisor.close()
