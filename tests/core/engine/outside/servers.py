"""MCP servers of the tests: `python servers.py KIND [FILE]`, real processes over stdio.

They are written with the low-level server of the SDK, so that pages, schemas and answers are
exactly what a test says.
"""

import asyncio
import base64
import os
import subprocess
import sys
import time
from pathlib import Path

PNG = base64.b64encode(b"\x89PNG picture").decode()
OBJECT = {"type": "object", "properties": {}}
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "x-own": [1, {"deep": None}]}},
    "required": ["city"],
    "$comment": "kept as it is",
}


def answers(types):
    """What each tool of the server `answers` gives back."""
    text = types.TextContent(type="text", text="hello")
    blob = types.BlobResourceContents(
        uri="file:///a/report%201.pdf", mimeType="application/pdf", blob=PNG
    )
    return {
        "text": types.CallToolResult(content=[text]),
        "failed": types.CallToolResult(
            content=[text, types.ImageContent(type="image", data=PNG, mimeType="image/png")],
            isError=True,
        ),
        "picture": types.CallToolResult(
            content=[text, types.ImageContent(type="image", data=PNG, mimeType="image/png")]
        ),
        "blob": types.CallToolResult(
            content=[types.EmbeddedResource(type="resource", resource=blob)]
        ),
        "link": types.CallToolResult(
            content=[
                types.ResourceLink(type="resource_link", name="doc", uri="https://x.test/d.pdf"),
                types.ResourceLink(type="resource_link", name="local", uri="file:///etc/passwd"),
            ]
        ),
        "structured": types.CallToolResult(content=[], structuredContent={"n": 1}),
        "environment": None,
    }


def tool(types, name, schema=None, **more):
    return types.Tool(name=name, description=f"does {name}", inputSchema=schema or OBJECT, **more)


def main(kind, file):
    import mcp.types as types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    if kind == "broken":
        print("I cannot start", file=sys.stderr)
        raise SystemExit(3)
    if kind == "silent":
        file.write_text(str(os.getpid()), "utf-8")
        time.sleep(600)

    async def list_tools(_context, params):
        cursor = params.cursor if params is not None else None
        if file is not None and kind in {"bad_list", "child"}:
            child = subprocess.Popen(  # noqa: ASYNC220 - a server of a test
                [sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True
            )
            file.write_text(f"{os.getpid()} {child.pid}", "utf-8")
        if kind == "bad_list":
            raise RuntimeError("the list is broken")
        if kind == "endless":
            return types.ListToolsResult(tools=[tool(types, "a")], nextCursor="again")
        if kind == "pages":
            number = int(cursor or 0)
            more = str(number + 1) if number < 2 else None
            return types.ListToolsResult(tools=[tool(types, f"t{number}")], nextCursor=more)
        if kind == "twins":
            return types.ListToolsResult(tools=[tool(types, "a/b"), tool(types, "a_b")])
        if kind == "answers":
            return types.ListToolsResult(tools=[tool(types, name) for name in answers(types)])
        read_only = types.ToolAnnotations(readOnlyHint=True)
        return types.ListToolsResult(
            tools=[
                tool(types, "weather", SCHEMA, annotations=read_only),
                tool(types, "hang"),
                tool(types, "crash"),
                tool(types, "refuse"),
            ]
        )

    async def call_tool(_context, params):
        if kind == "answers":
            if params.name == "environment":
                names = " ".join(sorted(os.environ))
                return types.CallToolResult(content=[types.TextContent(type="text", text=names)])
            return answers(types)[params.name]
        if params.name == "crash":
            os._exit(7)
        if params.name == "refuse":
            raise RuntimeError("no such luck")
        if params.name == "hang":
            marker = file if file is not None and kind == "plain" else Path(os.devnull)
            try:
                marker.write_text("begun", "utf-8")
                await asyncio.Event().wait()
            finally:
                marker.write_text("cancelled", "utf-8")
        city = (params.arguments or {}).get("city")
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=f"sunny in {city}")]
        )

    server = Server("test", on_list_tools=list_tools, on_call_tool=call_tool)

    async def serve():
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    asyncio.run(serve())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else None)
