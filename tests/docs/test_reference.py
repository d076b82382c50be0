"""The reference is complete: what the code has and a page lacks fails here."""

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum, IntEnum, StrEnum
from functools import reduce
from importlib import import_module
from operator import getitem
from pkgutil import walk_packages
from typing import Any

import pytest
from doc_pages import DOCS, rows, sections

import agentcore
import agentcore.testing
import dream
from agentcore.domain import Evidence, Premise, RecordKind
from agentcore.domain.records import RECORD_TYPES
from agentcore.errors import AgentcoreError
from agentcore.hosting import (
    Context,
    ContextOptions,
    Conversation,
    ConversationOptions,
    EmbeddingOptions,
    FeedbackLog,
    FeedbackOptions,
    Host,
    Memory,
    MemoryOptions,
    Options,
    SkillOptions,
    Skills,
    WispLog,
    WispOptions,
)
from agentcore.llm import BusyGate
from dream.cycle import SESSION_EVALUATOR, Dreams, EntryHistory, ScopeStatus, SkillHistory
from dream.domain import (
    Alarm,
    AlarmKind,
    Deferral,
    DreamSession,
    ModelCall,
    NotUndone,
    Outcome,
    PassForecast,
    PassOutcome,
    PassReport,
    Plan,
    Refused,
    RefusedText,
    RunKind,
    RunReport,
    Skip,
    Stop,
    UsageRow,
)
from dream.interfaces.cli.app import COMMANDS, build_app
from dream.interfaces.cli.exit_codes import exit_code
from dream.interfaces.exchange import Format, items
from dream.options import AllOf, AnyOf, Cron, DailyAt, DreamOptions, Heartbeat, Idle, Preset, Threshold
from dream.passes import ORDER
from dream.passes.repairs import REMEDIES
from dream.triggers import GateName, Reason, SwitchSource

_REFERENCE = DOCS / "reference"
_ERRORS_OF_TESTS = "agentcore.testing"


def _documented(page: str, heading: str) -> dict[str, str]:
    found = sections(_REFERENCE / page)
    assert heading in found, f"{page} has no heading {heading!r}"
    return rows(found[heading])


def _undocumented(wanted: set[str], found: dict[str, str]) -> set[str]:
    return wanted ^ found.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_a_section_with_its_options(name: str):
    arguments = reduce(getitem, name.split(), build_app()).assemble_argument_collection()
    assert _undocumented(_options(arguments), _documented("cli.md", f"`dream {name}`")) == set()


def test_the_options_of_every_command_have_a_section():
    arguments = build_app().meta.assemble_argument_collection()
    assert _undocumented(_options(arguments), _documented("cli.md", "Options of every command")) == set()


def test_the_page_shows_no_command_that_is_not_there():
    shown = {title[7:-1] for title in sections(_REFERENCE / "cli.md") if title.startswith("`dream ")}
    assert shown == set(COMMANDS)


def test_each_import_format_is_told():
    assert _undocumented({one.value for one in Format}, _documented("cli.md", "Formats of `import`")) == set()


def _options(arguments: Any) -> set[str]:
    """Return the first name of each option, and the names of positional arguments in capitals."""
    return {one.name for one in arguments if one.parse and one.show}


@pytest.mark.parametrize(
    "options",
    [
        MemoryOptions,
        EmbeddingOptions,
        ContextOptions,
        ConversationOptions,
        SkillOptions,
        FeedbackOptions,
        WispOptions,
        DreamOptions,
    ],
)
def test_each_option_has_a_row_with_its_default(options: type[Options]):
    for section, model in _sections_of(options):
        found = _documented("options.md", f"`{section}`")
        plain = {
            name: field.get_default(call_default_factory=True)
            for name, field in model.model_fields.items()
            if not isinstance(field.get_default(call_default_factory=True), Options)
        }
        assert _undocumented(set(plain), found) == set()
        for name, default in plain.items():
            assert f"| {_shown(default)} |" in found[name]


def test_each_name_that_an_option_had_before_has_a_row_with_the_new_one():
    models = [model for options in (MemoryOptions, EmbeddingOptions, ContextOptions, DreamOptions)
              for _, model in _sections_of(options)]  # fmt: skip
    renamed = {f"{one.section}.{old}": f"{one.section}.{new}" for one in models for old, new in one.renamed.items()}
    found = rows((DOCS / "reference" / "options.md").read_text("utf-8"))
    assert len(renamed) == 15
    for old, new in renamed.items():
        assert found[old] == f"| `{old}` | `{new}` |"


@pytest.mark.parametrize("trigger", [Cron, DailyAt, Idle, Threshold, Heartbeat, AnyOf, AllOf])
def test_each_trigger_has_a_section_with_its_options(trigger: type[Options]):
    found = _documented("options.md", f"`{trigger.__name__}`")
    assert _undocumented(set(trigger.model_fields), found) == set()
    for name, field in trigger.model_fields.items():
        shown = "given" if field.is_required() else _shown(field.get_default())
        assert f"| {shown} |" in found[name]


@pytest.mark.parametrize("preset", Preset)
def test_the_table_of_presets_says_what_becomes_of_each_pass(preset: Preset):
    text = sections(DOCS / "explanation" / "when-to-dream.md")["Passes of a preset"]
    heads = [cell.strip(" `") for cell in text[text.index("| pass |") :].splitlines()[0].split("|")]
    told = {name: row.split("|")[heads.index(preset)].strip() for name, row in rows(text).items()}
    options = DreamOptions.preset(preset)
    names = [*(place.dream_pass.name for place in ORDER), SESSION_EVALUATOR]
    assert told == {name: options.mode(name).value for name in names}


def _sections_of(options: type[Options]) -> Iterator[tuple[str, type[Options]]]:
    yield options.section, options
    for field in options.model_fields.values():
        default = field.get_default(call_default_factory=True)
        if isinstance(default, Options):
            yield from _sections_of(type(default))


def _shown(default: object) -> str:
    if default is None or default == "":
        return "none"
    if isinstance(default, timedelta):
        return f"{default.days} days" if default.days > 1 else f"{default.total_seconds():g} s"
    if isinstance(default, frozenset | tuple | Mapping):
        return ", ".join(f"`{one}`" for one in default) or "none"
    if isinstance(default, int | float) and not isinstance(default, bool | IntEnum):
        return f"{default:,}"
    return f"`{_spelled(default)}`"


def _spelled(default: object) -> str:
    if isinstance(default, IntEnum):
        return f"{type(default).__name__}.{default.name}"
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, str):
        return str(default.value) if isinstance(default, StrEnum) else default
    if callable(default):
        return default.__name__
    raise AssertionError(f"show people a default such as {default!r}")


@pytest.mark.parametrize(
    ("codes", "heading"),
    [
        (Outcome, "Outcomes of a run"),
        (PassOutcome, "Outcomes of a pass"),
        (RunKind, "Kinds of run"),
        (AlarmKind, "Kinds of alarm"),
        (Skip, "Why a pass was skipped or found nothing"),
        (Refused, "Why a change was refused"),
        (Stop, "Why a model pass stopped early"),
        (Deferral, "Why a run was deferred"),
        (NotUndone, "Why a change was not undone"),
        (Reason, "What starts a dream"),
        (GateName, "What holds a dream back"),
        (SwitchSource, "Which setting decided"),
        (items.SkipReason, "Why an import left something out"),
        (items.Note, "What an import repaired or left open"),
    ],
)
def test_each_reason_code_has_a_row(codes: type[StrEnum], heading: str):
    found = _documented("reports-and-reason-codes.md", heading)
    assert _undocumented({one.value for one in codes}, found) == set()


def test_every_enumeration_of_codes_is_looked_at():
    module = import_module("dream.domain.reasons")
    codes = {one for _, one in inspect.getmembers(module, inspect.isclass) if issubclass(one, Enum)} - {StrEnum}
    assert codes == {Skip, Stop, Refused, Deferral, NotUndone}


@pytest.mark.parametrize(
    ("record", "heading"),
    [(RunReport, "The report of a run"), (PassReport, "The report of a pass")],
)
def test_each_field_of_a_report_has_a_row(record: type, heading: str):
    fields = {field.name for field in dataclasses.fields(record)}
    assert _undocumented(fields, _documented("reports-and-reason-codes.md", heading)) == set()


@pytest.mark.parametrize(
    ("record", "heading", "renamed"),
    [
        (
            Plan,
            "A plan",
            {"rows": "changes_planned", **dict.fromkeys(("report", "created_at", "steps"), "")},
        ),
        (EntryHistory, "The history of an entry", {"entry_id": "id", "rows": "history"}),
        (SkillHistory, "The history of a skill", {"rows": "history"}),
        (ScopeStatus, "The status of a scope", {"lease": "dreaming"}),
        (UsageRow, "Usage", {"pass_name": "pass"}),
        (PassForecast, "A forecast", {}),
        (ModelCall, "A model call", {"pass_name": "pass"}),
        (RefusedText, "A refused text", {"pass_name": "pass"}),
    ],
)
def test_each_field_of_a_document_has_a_row(record: type, heading: str, renamed: dict[str, str]):
    fields = {renamed.get(field.name, field.name) for field in dataclasses.fields(record)} - {""}
    assert _undocumented(fields, _documented("reports-and-reason-codes.md", heading)) == set()


def test_each_field_of_a_dream_session_has_a_row():
    fields = {field.name for field in dataclasses.fields(DreamSession)} | {"wrote"}
    assert _undocumented(fields, _documented("reports-and-reason-codes.md", "A dream session")) == set()


def test_each_field_of_an_alarm_has_a_row():
    alarm = Alarm(
        scope=agentcore.Scope.default(),
        kind=AlarmKind.FAILED,
        runs=1,
        since=datetime(2025, 6, 14, tzinfo=UTC),
        run_id="r",
        passes=(),
    )
    assert _undocumented(set(alarm.to_json()), _documented("reports-and-reason-codes.md", "An alarm")) == set()


def _errors() -> dict[str, type[AgentcoreError]]:
    for package in (agentcore, dream):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__") and ".migrations" not in module.name:
                import_module(module.name)
    found = [AgentcoreError]
    for error in found:
        found += error.__subclasses__()
    return {error.__name__: error for error in found if not error.__module__.startswith(_ERRORS_OF_TESTS)}


def test_each_error_has_a_row_with_its_exit_code():
    errors = _errors()
    found = rows((_REFERENCE / "errors.md").read_text("utf-8"))
    assert _undocumented(set(errors), found) == set()
    for name, error in errors.items():
        assert f"| {int(exit_code(error.__new__(error)))} |" in found[name]


@pytest.mark.parametrize("kind", RecordKind)
def test_each_field_of_an_exported_record_has_a_row(kind: RecordKind):
    of = RECORD_TYPES[kind]
    shown = {of.exported_as.get(name, name) for name in of.fields}
    assert _undocumented(shown, _documented("export-format.md", f"`{kind}`")) == set()


def test_each_field_of_a_premise_has_a_row():
    names = {field.name for field in dataclasses.fields(Premise)}
    assert _undocumented(names, _documented("export-format.md", "A premise")) == set()


def test_each_field_of_a_piece_of_evidence_has_a_row():
    names = {field.name for field in dataclasses.fields(Evidence)}
    assert _undocumented(names, _documented("export-format.md", "A piece of evidence")) == set()


@pytest.mark.parametrize("package", [agentcore, dream, agentcore.testing], ids=lambda package: package.__name__)
def test_each_public_name_has_a_row(package: Any):
    found = _documented("api.md", f"`{package.__name__}`")
    assert _undocumented(set(package.__all__), found) == set()


@pytest.mark.parametrize(
    "service",
    [
        agentcore.AgentHostBuilder,
        Host,
        Memory,
        Context,
        Conversation,
        Skills,
        FeedbackLog,
        WispLog,
        agentcore.AgentTools,
        BusyGate,
        Dreams,
        agentcore.testing.ManualClock,
    ],
    ids=lambda service: service.__name__,
)
def test_each_public_method_of_a_service_has_a_row(service: type):
    public = {name for name, _ in inspect.getmembers(service) if not name.startswith("_")}
    found = _documented("api.md", f"`{service.__name__}`")
    assert _undocumented(public, found) == set()


def test_each_code_that_is_asked_for_again_has_a_row():
    assert _undocumented(set(REMEDIES), _documented("reports-and-reason-codes.md", "What is asked for again")) == set()
