"""The worker process: takes jobs from a pipe, answers with pickled views, knows nothing else.

It imports no Qt and no loop. It ends when the pipe closes, so it cannot outlive the program.
"""

from __future__ import annotations

import gc
import pickle
import signal
from multiprocessing.connection import Connection
from typing import Final

from oma_desktop.model.errors import OmaError
from oma_desktop.monitor.jobs import Job
from oma_desktop.monitor.pieces import split

END: Final = b""
"""Marks the end of an answer."""


def serve(pipe: Connection) -> None:
    """Answer jobs until the other end closes."""
    # Ctrl+C is for the program, which closes the pipe when it is time.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Parsed documents hold no cycles, and collecting while one is alive costs more than parsing.
    gc.disable()
    while True:
        try:
            job: Job = pickle.loads(pipe.recv_bytes())
            _answer(pipe, job)
        except (EOFError, OSError):
            return


def _answer(pipe: Connection, job: Job) -> None:
    try:
        answer = job.run()
    except OmaError as error:
        pipe.send_bytes(pickle.dumps(error))
    else:
        for piece in split(answer):
            pipe.send_bytes(piece)
    pipe.send_bytes(END)
