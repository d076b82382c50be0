import warnings
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from agentcore import Decay, Trust
from agentcore.errors import InvalidOptionsError
from agentcore.hosting import (
    ContextOptions,
    ConversationOptions,
    EmbeddingOptions,
    FeedbackOptions,
    MemoryOptions,
    SkillOptions,
    WispOptions,
)
from agentcore.recall import RecallOptions

ALL = [ConversationOptions, FeedbackOptions, MemoryOptions, SkillOptions, WispOptions]


def test_the_defaults_are_those_of_the_domain():
    assert MemoryOptions().decay() == Decay()
    assert MemoryOptions().recall() == RecallOptions()


def test_options_reach_decay_and_recall():
    options = MemoryOptions(
        grace=timedelta(days=1),
        half_life=timedelta(days=2),
        floor=0.3,
        k1=1.5,
        b=0.5,
        importance_weight=0.1,
        max_index_bytes=3,
        snapshot_min_entries=None,
    )
    assert options.decay() == Decay(grace=timedelta(days=1), half_life=timedelta(days=2), floor=0.3)
    assert options.recall() == RecallOptions(
        k1=1.5, b=0.5, importance_weight=0.1, max_index_bytes=3, snapshot_min_entries=None
    )


def test_replace_changes_a_copy():
    options = MemoryOptions(floor=0.2)
    changed = options.replace(k1=1.5)
    assert (changed.floor, changed.k1) == (0.2, 1.5)
    assert options == MemoryOptions(floor=0.2)


@pytest.mark.parametrize("kind", ALL)
def test_options_cannot_be_changed_in_place(kind: Any):
    options = kind()
    name = next(iter(kind.model_fields))
    with pytest.raises(ValueError, match="frozen"):
        setattr(options, name, getattr(options, name))


@pytest.mark.parametrize("kind", ALL)
def test_an_unknown_option_is_refused_and_the_known_ones_are_named(kind: Any):
    sentence = f"{kind.section}.flor = 0.2 is not possible: there is none of that name; .*the options are"
    with pytest.raises(InvalidOptionsError, match=sentence):
        kind(flor=0.2)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: MemoryOptions(floor=1.5), "Option floor = 1.5 is not possible: give a number from 0 to 1."),
        (lambda: MemoryOptions(k1=-1), "Option k1 = -1.0 is not possible: give a finite number of 0 or more."),
        (
            lambda: MemoryOptions().replace(max_index_bytes=0),
            "Option max_index_bytes = 0 is not possible: give 1 or more.",
        ),
        (lambda: MemoryOptions(b="wide"), "Option memory.b = 'wide' is not possible: write a number."),
        (lambda: ConversationOptions(user_trust=7), "Option conversation.user_trust = 7 is not possible"),
        (lambda: FeedbackOptions(max_detail=-1), "Option feedback.max_detail = -1 is not possible: input should be"),
        (lambda: WispOptions(max_definition=-1), "Option wisps.max_definition = -1 is not possible"),
    ],
)
def test_a_value_without_meaning_is_refused_in_one_sentence(make: Callable[[], Any], sentence: str):
    with pytest.raises(InvalidOptionsError) as refusal:
        make()
    assert str(refusal.value).startswith(sentence)


def test_several_refusals_come_together():
    with pytest.raises(ExceptionGroup) as refusals:
        MemoryOptions(k1="x", b="y", flor=1)
    assert sorted(str(error).split(" is not")[0] for error in refusals.value.exceptions) == [
        "Option memory.b = 'y'",
        "Option memory.flor = 1",
        "Option memory.k1 = 'x'",
    ]
    assert all(isinstance(error, InvalidOptionsError) for error in refusals.value.exceptions)


def test_trust_may_be_given_as_a_member_or_its_number():
    assert SkillOptions(trust=1) == SkillOptions(trust=Trust.INFERRED)


RENAMED = [
    (kind, old, new) for kind in (MemoryOptions, EmbeddingOptions, ContextOptions) for old, new in kind.renamed.items()
]


@pytest.mark.parametrize(("kind", "old", "new"), RENAMED)
def test_an_option_is_taken_by_the_name_that_it_had_before_and_the_new_one_is_told(kind: Any, old: str, new: str):
    value = getattr(kind(), new) * 2
    sentence = f"Option {kind.section}.{old} is called {kind.section}.{new} now: write the new name."
    with pytest.warns(FutureWarning, match=sentence):
        assert getattr(kind(**{old: value}), new) == value
    with pytest.warns(FutureWarning, match=sentence):
        assert getattr(kind().replace(**{old: value}), new) == value


def test_the_new_name_of_an_option_is_told_once():
    with warnings.catch_warnings(record=True) as told:
        warnings.resetwarnings()
        warnings.simplefilter("default")
        for _ in range(3):
            MemoryOptions(recall_kept=timedelta(days=1))
    assert len(told) == 1


def test_an_option_that_is_given_by_both_its_names_is_refused():
    with pytest.raises(InvalidOptionsError, match=r"memory\.recall_kept = .* there is none of that name"):
        MemoryOptions(recall_kept=timedelta(days=1), recall_log_retention=timedelta(days=2))
