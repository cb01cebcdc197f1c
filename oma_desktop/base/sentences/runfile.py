"""Sentences about run files, plans and hand-written documents; `place` is `name:line $.path`."""

from __future__ import annotations

from typing import Final

from oma_desktop.base.text import N_, Sentence

_FIT = N_("Grant the tools, declare the capabilities, or change the requirements.")
_LATER = N_("This version cannot do that yet; nothing was started and no file was changed.")

SENTENCES: Final[dict[str, Sentence]] = {
    # reading
    "DOCUMENT_TOO_LARGE": Sentence(N_("{place}: the document is larger than {limit} allows.")),
    "DOCUMENT_TOO_DEEP": Sentence(N_("{place}: more than {limit} levels inside each other.")),
    "DOCUMENT_NOT_TEXT": Sentence(
        N_("{place}: this is not a text file."), "", N_("Save it as UTF-8.")
    ),
    "YAML_INVALID": Sentence(N_("{place}: not valid YAML ({problem}).")),
    "YAML_KEY_TWICE": Sentence(
        N_("{place}: the key {key} is given twice."), "", N_("Keep one of the two.")
    ),
    "YAML_KEY_NOT_TEXT": Sentence(N_("{place}: a key must be text."), "", N_("Put it in quotes.")),
    "YAML_TAG": Sentence(
        N_("{place}: the tag {tag} is not allowed here."), "", N_("Write plain values.")
    ),
    "YAML_NOT_FINITE": Sentence(N_("{place}: {found} is not a number that JSON knows.")),
    # shape
    "RUNFILE_NOT_A_RUN_FILE": Sentence(
        N_("{place}: this is not a run file."),
        "",
        N_("A run file has team, and tasks, goal or plan; a task file has tasks."),
    ),
    "RUNFILE_UNKNOWN_KEY": Sentence(
        N_("{place}: the key {name} is not known here."), "", N_("Remove it or correct its name.")
    ),
    "RUNFILE_UNKNOWN_KEY_NEAR": Sentence(
        N_("{place}: the key {name} is not known here."), "", N_("Did you mean {nearest}?")
    ),
    "RUNFILE_SECRET": Sentence(
        N_("{place}: {name} does not belong in a file, because files are shared."),
        "",
        N_("Put the key in the environment (providers.<name>.keyEnv) or the system's key store."),
    ),
    "RUNFILE_MISSING_KEY": Sentence(N_("{place}: the key {name} is missing.")),
    "RUNFILE_WRONG_TYPE": Sentence(N_("{place}: {name} must be of the type {expected}.")),
    "RUNFILE_NOT_ONE_OF": Sentence(N_("{place}: {name} must be one of {expected}.")),
    "RUNFILE_EMPTY": Sentence(N_("{place}: {name} must not be empty.")),
    "RUNFILE_TOO_SMALL": Sentence(N_("{place}: {name} must be at least {limit}.")),
    "RUNFILE_TOO_LONG": Sentence(N_("{place}: {name} may have at most {limit} characters.")),
    "RUNFILE_WRONG_VALUE": Sentence(N_("{place}: {name} has an unusable value ({problem}).")),
    "RUNFILE_NOT_A_FUNCTION": Sentence(
        N_("{place}: a function must be named here, as module:function."),
        "",
        N_("For example helpers:look_up, for the function look_up in helpers.py beside the file."),
    ),
    "RUNFILE_BAD_TOOL_NAME": Sentence(
        N_("{place}: models cannot call a tool by this name."),
        "",
        N_("Use 1 to 64 plain letters, digits, _ and -."),
    ),
    "RUNFILE_BAD_SERVER_NAME": Sentence(
        N_("{place}: this cannot be the name of a server."),
        "",
        N_("Use 1 to 48 plain letters, digits, _, - and /."),
    ),
    "RUNFILE_NOBODY_FITS": Sentence(
        N_(
            "{place}: no agent fits what “{title}” requires. {agent} is nearest and lacks: "
            "{missing}."
        ),
        "",
        _FIT,
    ),
    "RUNFILE_ASSIGNEE_UNFIT": Sentence(
        N_("{place}: {agent} does not fit what “{title}” requires and lacks: {missing}."),
        "",
        _FIT,
    ),
    # rules
    "RUNFILE_NO_AGENTS": Sentence(N_("{place}: the team has no agents.")),
    "RUNFILE_BAD_AGENT_NAME": Sentence(
        N_("{place}: {name} cannot be the name of an agent."),
        N_("Names are part of keys in the store."),
        N_("Use a name without / : \\ and control characters that does not begin with __oma_."),
    ),
    "RUNFILE_AGENT_TWICE": Sentence(
        N_("{place}: two agents have the name {name}."), "", N_("Give each agent its own name.")
    ),
    "RUNFILE_UNKNOWN_AGENT": Sentence(N_("{place}: no agent of the team has the name {name}.")),
    "RUNFILE_UNKNOWN_AGENT_NEAR": Sentence(
        N_("{place}: no agent of the team has the name {name}."), "", N_("Did you mean {nearest}?")
    ),
    "RUNFILE_COST_NEEDS_PRICES": Sentence(
        N_("{place}: a ceiling for cost needs to know what models cost."),
        "",
        N_("Add orchestrator.prices, or use maxTokenBudget."),
    ),
    "RUNFILE_NO_TASKS": Sentence(N_("{place}: the list of tasks is empty.")),
    "RUNFILE_TWO_KINDS_OF_WORK": Sentence(
        N_("{place}: only one of tasks, goal and plan can be given ({given})."),
        "",
        N_("Remove the others."),
    ),
    "RUNFILE_UNKNOWN_TASK": Sentence(N_("{place}: no other task is called {name}.")),
    "RUNFILE_UNKNOWN_TASK_NEAR": Sentence(
        N_("{place}: no other task is called {name}."), "", N_("Did you mean {nearest}?")
    ),
    "RUNFILE_AMBIGUOUS_TASK": Sentence(
        N_("{place}: more than one task is called {name}."), "", N_("Give the tasks own titles.")
    ),
    "RUNFILE_TASK_ID_TWICE": Sentence(N_("{place}: two tasks have the id {name}.")),
    "RUNFILE_TASK_NEEDS_ITSELF": Sentence(N_("{place}: the task {task} depends on itself.")),
    "RUNFILE_TASK_CYCLE": Sentence(
        N_("{place}: tasks wait for each other in a circle: {cycle}."),
        "",
        N_("Remove one of these dependencies."),
    ),
    "RUNFILE_TASK_METADATA": Sentence(
        N_("{place}: these task metadata cannot be kept ({reason})."),
        "",
        N_("At most 16 entries: short names, text up to 1024 characters, numbers, true or false."),
    ),
    "RUNFILE_ROUNDS_AND_DISPATCH": Sentence(
        N_("{place}: rounds and dispatch are two ways to run, and both are asked for."),
        "",
        N_("Keep one: rounds asks between batches of tasks, dispatch before each task."),
    ),
    # wiring
    "RUNFILE_NO_TEAM": Sentence(
        N_("{place}: this file has tasks but no team."),
        "",
        N_("Name a team file with --team, or a script with --script."),
    ),
    "RUNFILE_NO_WORK": Sentence(
        N_("{place}: this file has a team but nothing to do."),
        "",
        N_("Run a file with tasks, with this one as --team."),
    ),
    "RUNFILE_UNKNOWN_PROVIDER": Sentence(
        N_("Agent {agent} uses the provider {name}, which is not known."),
        "",
        N_("Use provider openai with a baseURL, or describe it under providers."),
    ),
    "RUNFILE_UNKNOWN_PROVIDER_NEAR": Sentence(
        N_("Agent {agent} uses the provider {name}, which is not known."),
        "",
        N_("Did you mean {nearest}?"),
    ),
    "RUNFILE_NO_MODEL": Sentence(
        N_("Agent {agent} has no model."),
        "",
        N_("Give the agent a model, or the orchestrator a defaultModel."),
    ),
    "RUNFILE_UNKNOWN_TOOL": Sentence(
        N_("{where} names the tool {name}, which does not exist here."),
        "",
        N_("Correct the name; a rule for an unknown tool would never fit."),
    ),
    "RUNFILE_UNKNOWN_TOOL_NEAR": Sentence(
        N_("{where} names the tool {name}, which does not exist here."),
        "",
        N_("Did you mean {nearest}?"),
    ),
    # who reaches a goal
    "RUNFILE_NEEDS_GOAL": Sentence(
        N_("{place}: {name} says who reaches a goal, and this file has none."),
        hint=N_("Leave {name} away, or give a goal instead of tasks or a plan."),
    ),
    "RUNFILE_NEEDS_INTENT": Sentence(
        N_("{place}: {name} means nothing without governanceIntent."),
        hint=N_("Set governanceIntent to required or preferred, or leave {name} away."),
    ),
    "RUNFILE_NO_ROLES": Sentence(
        N_("{place}: no roles are named that should take part."),
        hint=N_("Name them in requiredRoles, or set governanceIntent to none."),
    ),
    "RUNFILE_ROLE_TWICE": Sentence(
        N_("{place}: the role {role} is named twice."), hint=N_("Name every role once.")
    ),
    "RUNFILE_ROLE_UNKNOWN": Sentence(
        N_("{place}: the role {role} is not among requiredRoles."),
        hint=N_("Name it there too, or take it out of the order."),
    ),
    "RUNFILE_ROLE_OF_NOBODY": Sentence(
        N_("{place}: no agent is called {role} or has it among its capabilities."),
        hint=N_("Give the role to an agent, or leave it away."),
    ),
    "RUNFILE_NEEDS_PREFERRED": Sentence(
        N_("{place}: only roles that are preferred can give way to a budget."),
        hint=N_("Set governanceIntent to preferred, or leave preferredUnderBudget away."),
    ),
    "RUNFILE_MODE_BEATS_ROLES": Sentence(
        N_("{place}: with a mode the roles would not be asked."),
        hint=N_("Leave mode away, or the roles."),
    ),
    "RUNFILE_SINGLE_HAS_NO_PLAN": Sentence(
        N_("{place}: one agent alone makes no plan, so there is none to approve."),
        hint=N_("Set mode to team, or approvals.plan to allow."),
    ),
    # later versions
    "RUNFILE_NEEDS_JOURNAL": Sentence(
        N_("{name} needs the run journal."), _LATER, N_("Set journal to false.")
    ),
    "RUNFILE_NEEDS_PROTOCOL": Sentence(
        N_("Agent {agent} uses the provider {name}, which speaks another protocol."),
        _LATER,
        N_("Name a provider that speaks OpenAI chat completions or Anthropic messages."),
    ),
    # journals
    "JOURNAL_LINE_DAMAGED": Sentence(
        N_("{path}, line {line}: this is not a whole journal event ({problem})."),
        N_("The file was only read."),
    ),
    "JOURNAL_TORN_TAIL": Sentence(
        N_("{path}, line {line}: the last event was not written to its end ({problem})."),
        N_("It is left out when the journal is read; everything before it is whole."),
    ),
}
