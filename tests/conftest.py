"""What every test may take: a clock that stands still, ids that can be foreseen, a scope; how far properties go."""

import gc
import os
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, settings

from agentcore.domain import Scope
from agentcore.testing import ManualClock, SequentialIds

pytest_plugins = ["tests.postgres_server"]

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
)


SLOW = (
    "tests/agentcore/hosting/test_agent_tools.py",
    "tests/agentcore/hosting/test_busy_announcer.py",
    "tests/agentcore/hosting/test_context_budgets.py::test_what_a_budget_shows",
    "tests/agentcore/hosting/test_long_turns.py",
    "tests/agentcore/hosting/test_memory_writes.py",
    "tests/agentcore/llm/test_openai_client.py::test_a_handshake_that_hangs",
    "tests/agentcore/llm/test_openai_client.py::test_each_fault_ends",
    "tests/agentcore/recall/test_bm25_index.py::test_okapi_scores",
    "tests/agentcore/recall/test_kept_entries.py",
    "tests/agentcore/recall/test_pruning.py",
    "tests/agentcore/recall/test_recall.py::test_an_index_that_followed",
    "tests/agentcore/recall/test_recall.py::test_the_answer_equals",
    "tests/agentcore/recall/test_recall_of_texts.py::test_a_write_in_one_process",
    "tests/agentcore/recall/test_standing.py::test_a_text_of_five_megabytes",
    "tests/agentcore/stores/test_storage_contract.py",
    "tests/agentcore/stores/test_store_migrations.py",
    "tests/agentcore/test_public_names.py",
    "tests/docs/test_add_a_language.py",
    "tests/docs/test_code_blocks.py",
    "tests/dream/benchmark/",
    "tests/dream/cli/",
    "tests/dream/cycle/test_model_calls.py",
    "tests/dream/serving/",
    "tests/dream/cycle/test_plan.py",
    "tests/dream/cycle/test_plan_products.py",
    "tests/dream/cycle/test_resume.py",
    "tests/dream/cycle/test_review.py",
    "tests/dream/cycle/test_rounds.py::test_however",
    "tests/dream/cycle/test_runner.py::test_the_first_dream_of_a_process",
    "tests/dream/cycle/test_waiting.py",
    "tests/dream/cycle/test_watching.py",
    "tests/dream/documents/test_delivery.py::test_a_run_killed",
    "tests/dream/documents/test_killed.py",
    "tests/dream/exchange/test_export.py::test_an_export_cut_off_anywhere",
    "tests/dream/exchange/test_export.py::test_an_export_read_into",
    "tests/dream/guards/test_merge_pairs.py",
    "tests/dream/guards/test_readings.py",
    "tests/dream/injection/",
    "tests/dream/laws/",
    "tests/dream/passes/fact_mining/test_mining_hostile_turns.py",
    "tests/dream/passes/fact_mining/test_mining_interrupted.py",
    "tests/dream/passes/memory_consolidation/test_consolidation_feedback.py",
    "tests/dream/passes/memory_consolidation/test_consolidation_laws.py",
    "tests/dream/passes/memory_consolidation/test_consolidation_repair.py::test_repairs_are_counted",
    "tests/dream/passes/promotion/",
    "tests/dream/passes/skill_library/",
    "tests/dream/passes/test_answers_about_turns.py",
    "tests/dream/passes/test_episodes_and_preferences_whole.py",
    "tests/dream/passes/test_exact_fold.py::test_more_copies",
    "tests/dream/passes/test_retention.py::test_bookkeeping",
    "tests/dream/processes/",
    "tests/dream/scheduling/",
    "tests/dream/triggers/",
    "tests/oracle/",
    "tests/dream/cli/test_cli_forget_story.py",
    "tests/quality/test_declarations.py",
    "tests/quality/test_house.py",
    "tests/quality/test_tools.py::test_a_tool_has_nothing_to_say[the strict type checker",
    "tests/quality/test_types_for_users.py::test_a_strict_type_checker",
    "tests/test_walls.py",
)
"""What starts or kills processes, waits in real time, reads the whole tree or tries hundreds of cases: `-m "not slow"`
leaves it out."""


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
