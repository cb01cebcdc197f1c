"""What tests of this folder share."""

import asyncio
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden"


async def until(holds, patience_s=20.0):
    """Wait until `holds()`; the deadline is only there to fail instead of hanging."""
    async with asyncio.timeout(patience_s):
        while not holds():  # noqa: ASYNC110 - several sources, none of them one event
            await asyncio.sleep(0.01)
