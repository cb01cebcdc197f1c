"""What an orchestrated run does. asyncio, no Qt, no watching of files."""
