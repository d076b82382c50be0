"""Builds the commands, and the options that all of them share."""

import inspect
from collections.abc import Sequence
from datetime import timedelta
from itertools import takewhile
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Group, Parameter

from agentcore.clock import SystemClock
from agentcore.domain.actor import Actor, ActorKind
from agentcore.domain.scope import Scope
from agentcore.domain.scope_pattern import ScopePattern
from agentcore.errors import InvalidOptionsError
from agentcore.ids import RandomIds
from agentcore.stores.acting import acting_as
from dream.interfaces.cli.errors import NoCommandError
from dream.interfaces.cli.screen import Screen
from dream.interfaces.cli.session import CommandSession, data_directory, database_url

_HOME = "dream.interfaces.cli.commands"

COMMANDS = {
    "demo": ("demo:demo", "Dream once on six ready-made weeks of memory, and show it all."),
    "import": ("exchange:import_", "Add what a file holds and the memory does not."),
    "backup": ("backup:backup", "Copy the whole memory to a file, while it is in use, and read it back."),
    "restore-backup": (
        "backup:restore_backup",
        "Put a backup in the place of the memory, without what was forgotten.",
    ),
    "copy": ("copying:copy", "Copy the memory of all scopes between a folder and a PostgreSQL database."),
    "export": ("exchange:export", "Write every record of the scope as sorted JSON lines."),
    "remember": ("memory:remember", "Remember a text, or reinforce it if it is known."),
    "recall": ("memory:recall", "Find the entries that answer a question best."),
    "memories": ("memory:memories", "List entries, the latest seen first."),
    "conclusions": ("conclusions:conclusions", "List what dreams concluded, each with what it rests on."),
    "hypotheses": ("hypotheses:hypotheses", "List what dreams guessed, and decide about it."),
    "claims": ("claims:claims", "List claims, and take one through its gate."),
    "reflect": ("hypotheses:reflect", "Count and list what is unwell in the memory."),
    "card": ("card:card", "Show the peer card, put a line on it, or take one off it."),
    "edit": ("desk:edit", "Change the text of an entry, or where it is filed."),
    "pin": ("desk:pin", "Pin an entry: no dream retires it."),
    "unpin": ("desk:unpin", "Take the pin of an entry away."),
    "confirm": ("desk:confirm", "Vouch for an entry: dreams believe it first."),
    "archive": ("desk:archive", "Set an entry aside; restore brings it back."),
    "merge": ("desk:merge", "Make one entry of several that say the same."),
    "distinct": ("desk:distinct", "Say that entries say different things."),
    "duplicates": ("desk:duplicates", "List entries that may say the same."),
    "questions": ("desk:questions", "List the questions that only you can answer."),
    "answer": ("desk:answer", "Answer a question: keep an entry, write a text, or dismiss it."),
    "forget": ("forget:forget", "Remove an entry, a session, a scope or a peer for good."),
    "never": ("never:never", "Have dreams keep nothing about a topic, or show the topics."),
    "why": ("provenance:why", "Show what happened to an entry or a skill and where it came from."),
    "restore": ("provenance:restore", "Bring a retired entry back."),
    "plan": ("dreaming:plan", "Show what a run would change, and change nothing."),
    "run": ("dreaming:run", "Run one dream now, or apply a plan exactly."),
    "verify": ("verify:verify", "Judge what is stored and unverified by what its sources still say."),
    "promote": ("promote:promote", "Promote what recall proved useful to MEMORY.md, or say why not."),
    "pause": ("dreaming:pause", "Stop the dreams of the scope, in every process."),
    "resume": ("dreaming:resume", "Let the dreams of the scope run again."),
    "runs": ("journal:runs", "List runs, the newest first."),
    "sessions": ("sessions:sessions", "List dreams and conversations, the newest first."),
    "show": ("journal:show", "Show the report of a run, and what a dream asked and wrote."),
    "diff": ("journal:diff", "Show what a run changed, record by record."),
    "undo": ("journal:undo", "Take back a run, one of its passes, or one change."),
    "peers list": ("peers:list_", "List who takes part in a session, and who observes whom."),
    "peers join": ("peers:join", "Have a peer take part in a session."),
    "peers leave": ("peers:leave", "Have a peer take part in a session no longer."),
    "peers say": ("peers:say", "Log what a peer says in a session."),
    "peers observe": ("peers:observe", "Say whether a peer may be observed wherever its session says nothing."),
    "review all": ("review:walk", "Go through what passes proposed, one by one, and decide."),
    "review list": ("review:list_", "List what passes proposed and you have yet to decide."),
    "review show": ("review:show", "Show what a proposal would change, record by record."),
    "review approve": ("review:approve", "Make the changes of proposals."),
    "review reject": ("review:reject", "Drop proposals, and have none like them again."),
    "directives list": ("directives:list_", "List what the model is told, and whose words that are."),
    "directives show": ("directives:show", "Print the text of a directive that is in force."),
    "directives eject": ("directives:eject", "Write a built-in directive to the data directory, to be edited there."),
    "directives check": ("directives:check", "Examine your own directives, and what a change of them costs."),
    "usage": ("usage:usage", "Show what the model cost, by day, pass and model."),
    "status": ("health:status", "Show what is stored, what waits, and who dreams."),
    "scopes": ("scopes:scopes", "List the scopes, with what they hold and when they dream next."),
    "switch": ("switching:switch", "Switch dreams, or learning altogether, off and on."),
    "schedule": ("switching:schedule", "Ask for a dream soon, to be begun by a host that watches the scope."),
    "unschedule": ("switching:unschedule", "Take a request for a dream back that has not begun."),
    "explain": ("scheduling:explain", "Tell when the scope dreams next, and why not earlier."),
    "config show": ("scheduling:show", "Show every option of dreams that is in force, and who said so."),
    "serve": ("serving:serve", "Serve the memory over REST and MCP, and dream by itself."),
    "work": ("fleet:work", "Dream for all scopes of a PostgreSQL database, beside other workers."),
    "fleet": ("fleet:fleet", "Show what a fleet has due, offered and under way, and who works."),
    "mcp": ("serving:mcp", "Serve the memory to one agent over MCP on stdin and stdout."),
    "token create": ("tokens:create", "Make a bearer token for a client of the server."),
    "token list": ("tokens:list_", "List the tokens of the server's clients."),
    "token revoke": ("tokens:revoke", "Take a token back."),
    "doctor": ("health:doctor", "Examine the folder and the database."),
    "completion": ("completion:completion", "Print the script that completes commands in your shell."),
    "bench": ("bench:bench", "Measure a dream or recall on conversations whose answers are known."),
}
"""Each command: the function that is it, imported only when it is called, and what the list of commands says."""

ALIASES = {
    ("add",): ("remember",),
    ("search",): ("recall",),
    ("list",): ("memories",),
    ("ls",): ("memories",),
    ("rm",): ("forget",),
    ("history",): ("runs",),
    ("sessions", "list"): ("sessions",),
    ("runs", "list"): ("runs",),
    ("questions", "list"): ("questions",),
}
"""What else people type, and the command that it means."""


def spelled_out(tokens: Sequence[str]) -> list[str]:
    """Return a command line with an alias at its beginning replaced by its command, and `-` as a plain argument.

    Example:
        >>> spelled_out(["sessions", "list", "--limit", "3"]), spelled_out(["recall", "list"])
        (['sessions', '--limit', '3'], ['recall', 'list'])
    """
    meant = list(tokens)
    for words, command in ALIASES.items():
        if tuple(tokens[: len(words)]) == words:
            meant = [*command, *tokens[len(words) :]]
    if meant[:1] in (["remember"], ["import"]) and "-" in takewhile("--".__ne__, meant):
        meant.remove("-")
        meant += ["-"] if "--" in meant else ["--", "-"]
    return meant


EVERYWHERE = ("--data", "--scope", "--json", "--workspace", "--busy-timeout", "--options", "--debug")
"""The options of every command."""

GROUPS = {
    "peers": "See and say who takes part in sessions of several peers, and who observes whom.",
    "review": "Decide what becomes of changes that passes only propose.",
    "directives": "See, change and check what the model is told.",
    "config": "See what is configured.",
    "token": "Say who may use the server, and for what.",
}
"""What the list of commands says of those whose names begin with the same word."""

_QUIET: dict[str, Any] = {
    "exit_on_error": False,
    "print_error": False,
    "result_action": "return_value",
}


def build_app() -> App:
    """Return the command line, ready to be called with arguments; it raises what goes wrong and never exits."""
    app = App(
        name="dream",
        help="An agent's memory that looks after itself: see, plan, run, explain and undo its dreams.",
        version=_version,
        default_parameter=Parameter(show_default=_default_text),
        group_commands=Group("Commands", sort_key=1),
        **_QUIET,
    )
    own = Group("Options", sort_key=2)
    for place, (words, (target, summary)) in enumerate(COMMANDS.items()):
        group, _, name = words.rpartition(" ")
        home = _group(app, group, place) if group else app
        home.command(f"{_HOME}.{target}", name=name, help=summary, sort_key=place, group_parameters=own)
    app.meta.group_parameters = Group("Options of every command", sort_key=3)
    app.meta.suppress_keyboard_interrupt = False
    app.meta.default(_launcher(app))
    return app


def _group(app: App, name: str, place: int) -> App:
    if name not in app:
        app.command(App(name=name, help=GROUPS[name], sort_key=place, group_commands=Group("Commands"), **_QUIET))
    return app[name]


def _default_text(value: object) -> str | None:
    """Return what a default is called in help; None for nothing, and for a flag, whose name says it."""
    return None if value is None or isinstance(value, bool) else str(value)


def _version() -> str:
    from dream.interfaces.release import installed_version  # noqa: PLC0415 - 20 ms, wanted once in a while

    return installed_version("agentcore-dream")


def _launcher(app: App) -> Any:
    async def launch(
        *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
        data: str | None = None,
        scope: str | None = None,
        as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
        workspace: Annotated[str | None, Parameter(env_var="AGENTCORE_WORKSPACE")] = None,
        busy_timeout: Annotated[float | None, Parameter(env_var="AGENTCORE_BUSY_TIMEOUT")] = None,
        options: Annotated[Literal["host", "file"], Parameter(env_var="AGENTCORE_OPTIONS")] = "host",
        debug: Annotated[bool, Parameter(negative="")] = False,  # noqa: ARG001 - `entry` looks for it by itself
    ) -> int | None:
        """Prepare the session and run the command.

        Args:
            tokens: The command and its arguments.
            data: Folder of the memory; else the environment's AGENTCORE_DATA, else your user data folder. For bench
                the file to measure on.
            scope: Whose memory, as WORKSPACE/OBSERVER/OBSERVED; else default/agent/agent.
            as_json: Print one JSON document to stdout and nothing else there.
            workspace: Folder of MEMORY.md and DREAMS.md, which dreams then write.
            busy_timeout: Seconds to wait for another process that holds the database.
            options: Go by what the code of the host says that ran here last, or by agentcore.toml and the environment
                alone.
            debug: Show the traceback of an error.
        """
        command, bound, ignored = app.parse_args(spelled_out(tokens), exit_on_error=False, print_error=False)
        if not ignored:
            if as_json:
                raise NoCommandError
            command(*bound.args, **bound.kwargs)
            return None
        follows = options == "host"
        session = _session(data, scope, workspace, as_json=as_json, busy_timeout=busy_timeout, follows_host=follows)
        with acting_as(Actor(ActorKind.PERSON)):
            outcome = command(*bound.args, **bound.kwargs, **dict.fromkeys(ignored, session))
            return await outcome if inspect.isawaitable(outcome) else outcome

    return launch


def _session(
    data: str | None,
    scope: str | None,
    workspace: str | None,
    *,
    as_json: bool,
    busy_timeout: float | None,
    follows_host: bool,
) -> CommandSession:
    if busy_timeout is not None and not (isfinite(busy_timeout) and busy_timeout >= 0):
        raise InvalidOptionsError(field="--busy-timeout", value=busy_timeout, allowed="give seconds, 0 or more")
    # Parsed as a scope first: what neither could be is refused as a scope. A backslash takes its meaning from a `*`.
    pattern = None if scope is None else ScopePattern.parse(str(Scope.parse(scope)))
    one = Scope.default() if pattern is None else pattern.scope
    return CommandSession(
        data_dir=data_directory(data),
        url=database_url(),
        scope=one or Scope.parse(str(pattern)),
        pattern=pattern if one is None else None,
        screen=Screen(as_json=as_json),
        clock=SystemClock(),
        ids=RandomIds(),
        given=tuple(
            word
            for option, value in (
                ("--data", data),
                ("--scope", scope),
                ("--workspace", workspace),
                ("--options", None if follows_host else "file"),
            )
            if value
            for word in (option, value)
        ),
        workspace=Path(workspace).expanduser() if workspace else None,
        is_data_given=data is not None,
        follows_host=follows_host,
        busy_timeout=None if busy_timeout is None else timedelta(seconds=busy_timeout),
    )
