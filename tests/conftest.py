"""What every test may take: a clock that stands still, ids that can be foreseen, a scope; how far properties go."""

import gc
import os
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, settings

from agentcore.domain import Scope
from agentcore.testing import ManualClock, SequentialIds

# Slow machines are no failures, and a failure seen once is seen again: `thorough` is for hunting new ones.
settings.register_profile(
    "ci", deadline=None, max_examples=50, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", parent=settings.get_profile("ci"), max_examples=1_000, derandomize=False)
settings.register_profile("quick", parent=settings.get_profile("ci"), max_examples=10)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

LONGEST_FIRST = (
    "tests/quality/test_tools.py",
    "tests/dream/processes/",
    "tests/dream/injection/",
    "tests/dream/cycle/test_resume.py",
    "tests/dream/laws/",
    "tests/dream/guards/test_statements.py",
)


SLOW = (
    "tests/agentcore/llm/test_openai_client.py::test_a_handshake_that_hangs",
    "tests/agentcore/recall/test_recall_of_texts.py::test_a_write_in_one_process",
    "tests/agentcore/stores/test_store_migrations.py",
    "tests/docs/test_code_blocks.py",
    "tests/dream/benchmark/",
    "tests/dream/cli/test_cli_bad_input.py",
    "tests/dream/cli/test_cli_bench.py",
    "tests/dream/cli/test_cli_demo",
    "tests/dream/cli/test_cli_exchange.py",
    "tests/dream/cli/test_cli_o",
    "tests/dream/cli/test_cli_p",
    "tests/dream/cli/test_cli_review.py",
    "tests/dream/cli/test_cli_s",
    "tests/dream/cli/test_cli_usage.py",
    "tests/dream/cli/test_cli_why_and_health.py",
    "tests/dream/cycle/test_resume.py",
    "tests/dream/cycle/test_runner.py::test_the_first_dream_of_a_process",
    "tests/dream/documents/test_killed.py",
    "tests/dream/exchange/test_export.py::test_an_export_cut_off_anywhere",
    "tests/dream/guards/test_merge_pairs.py",
    "tests/dream/guards/test_readings.py",
    "tests/dream/guards/test_statements.py",
    "tests/dream/injection/test_bad_answers.py",
    "tests/dream/injection/test_fuzzed_answers.py",
    "tests/dream/injection/test_obedience.py",
    "tests/dream/passes/fact_mining/test_mining_hostile_turns.py",
    "tests/dream/passes/fact_mining/test_mining_interrupted.py",
    "tests/dream/passes/skill_library/test_skill_answer_laws.py",
    "tests/dream/passes/test_answers_about_turns.py",
    "tests/dream/passes/test_episodes_and_preferences_whole.py",
    "tests/dream/processes/",
    "tests/dream/scheduling/test_broken_scopes.py",
    "tests/dream/scheduling/test_side_by_side.py",
    "tests/dream/triggers/test_a_year.py",
    "tests/dream/triggers/test_scheduling_machine.py",
    "tests/dream/triggers/test_wall_clock.py",
    "tests/oracle/",
    "tests/quality/test_house.py::test_an_import_loads_only",
    "tests/quality/test_tools.py::test_a_tool_has_nothing_to_say[the strict type checker",
    "tests/quality/test_types_for_users.py::test_a_strict_type_checker",
    "tests/test_walls.py::test_a_pass_that_writes",
)
"""What starts or kills processes, asks the type checker or tries thousands of cases: `-m "not slow"` leaves it out."""


def pytest_configure(config: pytest.Config) -> None:
    """Try properties on few cases in the quick suite, unless the environment says how many."""
    if config.getoption("markexpr") == "not slow" and "HYPOTHESIS_PROFILE" not in os.environ:
        settings.load_profile("quick")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow, and start what takes long first, so that no process is left alone with it at the end."""
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker(pytest.mark.slow)

    def rank(item: pytest.Item) -> int:
        return next((n for n, start in enumerate(LONGEST_FIRST) if item.nodeid.startswith(start)), len(LONGEST_FIRST))

    items.sort(key=rank)


def pytest_collection_finish() -> None:
    """Take what the collection made out of sight of the garbage collector: walking it costs a tenth of the suite."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def clock():
    return ManualClock(datetime(2025, 6, 14, 9, 30, tzinfo=UTC))


@pytest.fixture
def ids():
    return SequentialIds()


@pytest.fixture
def scope():
    return Scope.default()
