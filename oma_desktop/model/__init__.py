"""Values and pure functions over them. No I/O, no clock, no asyncio, no Qt."""
