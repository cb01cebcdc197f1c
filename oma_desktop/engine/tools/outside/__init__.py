"""Tools from outside the program: functions in Python files and the tools of MCP servers."""
