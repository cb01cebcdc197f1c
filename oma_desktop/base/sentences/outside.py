"""Sentences about tools from outside: Python functions, MCP servers, trusted folders."""

from __future__ import annotations

from oma_desktop.base.text import N_, Sentence

_NOTHING = N_("Nothing was started.")

SENTENCES: dict[str, Sentence] = {
    # trust
    "FOLDER_NOT_TRUSTED": Sentence(
        N_(
            "{path} wants to run code of its own, and nobody has agreed to that for the folder "
            "{folder} yet."
        ),
        N_("Nothing of it was imported or started: {names}."),
        N_("If you trust what is in this folder, start again with --trust-folder."),
    ),
    "FOLDER_REFUSED": Sentence(
        N_("The run was not started: the folder {folder} is not trusted."),
        N_("Nothing of it was imported or started."),
        N_("Start the run again to be asked again."),
    ),
    "TRUST_NOT_KEPT": Sentence(
        N_("Your yes to the folder {folder} could not be kept in {path}."),
        N_("It counts for this run."),
        N_("The next run asks again."),
    ),
    # Python functions
    "PYTHON_TOOL_NOT_FOUND": Sentence(
        N_("The function {use} is not there: {folder} has no such Python file."),
        _NOTHING,
        N_("Write module:function; the module is a file in the folder of the run file."),
    ),
    "PYTHON_TOOL_OUTSIDE": Sentence(
        N_("The function {use} lies outside the folder of the run file, at {found}."),
        _NOTHING,
        N_("Put the file itself into {folder}; links out of it are not followed."),
    ),
    "PYTHON_TOOL_SHADOWS": Sentence(
        N_("The function {use} names {name}, which is a module of Python or an installed package."),
        _NOTHING,
        N_("Give the file in {folder} another name."),
    ),
    "PYTHON_TOOL_IMPORT": Sentence(
        N_("The function {use} could not be imported: {found} at {place}."),
        _NOTHING,
        N_("Correct the file and start again."),
    ),
    "PYTHON_TOOL_NO_FUNCTION": Sentence(
        N_("{path} has no function {name}; the run file names {use}."),
        _NOTHING,
        N_("Correct the name in the run file."),
    ),
    "PYTHON_TOOL_SIGNATURE": Sentence(
        N_("The parameters of the tool {use} cannot be described to a model: {found}"),
        _NOTHING,
        N_("Give each parameter a name and a type that JSON can say."),
    ),
    "PYTHON_TOOL_ARGUMENTS": Sentence(
        N_("The function {use} was called with arguments it cannot take: {found}"),
        N_("The function was not run."),
        "",
    ),
    "PYTHON_TOOL_RETURNED": Sentence(
        N_("A tool returned {found}, which is neither text nor JSON."),
        N_("The agent was told and goes on."),
        N_("Return text, JSON values, a pydantic model, or rich parts."),
    ),
    "PYTHON_TOOL_EXIT": Sentence(
        N_("The function {use} tried to end the program."),
        N_("The agent was told and goes on."),
        N_("A tool returns, or raises an error."),
    ),
    "PYTHON_TOOL_NOT_IMPORTED": Sentence(
        N_("This tool was not imported, so it cannot run."),
        "",
        N_("Start the run with its run file."),
    ),
    # hooks of agents
    "PYTHON_HOOK_NOT_FOUND": Sentence(
        N_("{hook} names {use}, and {folder} has no such Python file."),
        _NOTHING,
        N_("Write module:function; the module is a file in the folder of the run file."),
    ),
    "PYTHON_HOOK_OUTSIDE": Sentence(
        N_("{hook} names {use}, which lies outside the folder of the run file, at {found}."),
        _NOTHING,
        N_("Put the file itself into {folder}; links out of it are not followed."),
    ),
    "PYTHON_HOOK_SHADOWS": Sentence(
        N_("{hook} names {use}; {name} is a module of Python or an installed package."),
        _NOTHING,
        N_("Give the file in {folder} another name."),
    ),
    "PYTHON_HOOK_IMPORT": Sentence(
        N_("{hook} names {use}, which could not be imported: {found} at {place}."),
        _NOTHING,
        N_("Correct the file and start again."),
    ),
    "PYTHON_HOOK_NO_FUNCTION": Sentence(
        N_("{hook} names {use}, and {path} has no function {name}."),
        _NOTHING,
        N_("Correct the name in the run file."),
    ),
    "PYTHON_HOOK_NOT_IMPORTED": Sentence(
        N_("This hook was not imported, so the agent cannot work."),
        "",
        N_("Start the run with its run file."),
    ),
    "SCRIPT_WITHOUT_HOOKS": Sentence(
        N_("A script plays the agents, so hooks of the run file are left out: {names}."),
        N_("Nothing of the folder was imported, and nobody had to agree to that."),
        N_("Use a scripted provider in the run file where its hooks shall work."),
    ),
    "TOOL_NAME_BUILTIN": Sentence(
        N_("{place} gives a tool the name {tool}, which belongs to a built-in tool."),
        _NOTHING,
        N_("Give it another name."),
    ),
    # MCP servers
    "MCP_NOT_STARTED": Sentence(
        N_("The MCP server {server} could not be started: {command}: {found}."),
        _NOTHING,
        N_("Check command, args and cwd under tools.mcp.{server} in the run file."),
    ),
    "MCP_FAILED": Sentence(
        N_("The MCP server {server} could not be used: {found}."),
        N_("Every server of the run was ended; no task was started."),
        N_("Try its command in a terminal, correct it and start again."),
    ),
    "MCP_TIMED_OUT": Sentence(
        N_("The MCP server {server} gave no answer to {request} within {seconds} seconds."),
        N_("Every server of the run was ended; no task was started."),
        N_("Try its command in a terminal, correct it and start again."),
    ),
    "MCP_DUPLICATE_TOOL": Sentence(
        N_("The MCP server {server} brings a second tool with the name {tool}."),
        N_("Every server of the run was ended; no task was started."),
        N_("Choose its tools with tools.mcp.{server}.tools, or give the server another name."),
    ),
    "MCP_TOOL_UNKNOWN": Sentence(
        N_("The run file names the tool {tool} of the MCP server {server}, which has none such."),
        N_("Every server of the run was ended; no task was started."),
        N_("Correct the name under tools.mcp.{server}."),
    ),
    "MCP_VARIABLE_MISSING": Sentence(
        N_("The MCP server {server} needs the variable {name}, which is not set."),
        _NOTHING,
        N_("Set it in the environment and start again."),
    ),
}
