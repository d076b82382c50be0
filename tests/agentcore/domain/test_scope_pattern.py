"""A pattern names several scopes, and the narrower one wins."""

import pytest
from hypothesis import given, strategies as st

from agentcore.domain.scope import Scope
from agentcore.domain.scope_pattern import ScopePattern
from agentcore.errors import InvalidScopeError

_PART = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="/*?"), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("pattern", "scope", "named"),
    [
        ("acme/*/*", "acme/agent/ana", True),
        ("acme/*/*", "acme2/agent/ana", False),
        ("*/*/*", "a/b/c", True),
        ("*/rex/*", "acme/rex/ana", True),
        ("acme/r?x/an*", "acme/rex/ana", True),
        ("acme/r?x/an*", "acme/reex/ana", False),
        ("Acme/*/*", "acme/agent/ana", False),
        ("[a]cme/*/*", "acme/agent/ana", False),
        ("[a]cme/*/*", "[a]cme/agent/ana", True),
    ],
)
def test_a_pattern_names_scopes_by_their_parts(pattern: str, scope: str, *, named: bool):
    assert ScopePattern.parse(pattern).matches(Scope.parse(scope)) is named


def test_the_narrower_of_two_patterns_has_more_that_is_fixed_and_has_it_further_left():
    ordered = ["*/*/*", "*/*/a*", "*/r*/*", "a*/*/*", "*/*/ana", "*/rex/*", "acme/*/*", "acme/*/ana", "acme/rex/ana"]
    ranks = [ScopePattern.parse(one).narrowness for one in ordered]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) == len(ranks)


@given(_PART, _PART, _PART)
def test_every_scope_is_named_by_itself_and_by_all_stars(workspace: str, observer: str, observed: str):
    scope = Scope(workspace, observer, observed)
    itself = ScopePattern.parse(str(scope))
    assert itself.matches(scope)
    assert itself.scope is not None
    assert ScopePattern.parse("*/*/*").matches(scope)
    assert not itself.matches(Scope(f"{workspace}x", observer, observed))


_ANY_PART = st.text(st.sampled_from("ab*?\\[]!"), min_size=1, max_size=5)


@given(_ANY_PART, _ANY_PART, _ANY_PART, _ANY_PART)
def test_the_pattern_of_a_scope_names_it_and_no_other_whatever_it_is_called(
    workspace: str, observer: str, observed: str, other: str
):
    scope = Scope(workspace, observer, observed)
    only = ScopePattern.of(scope)
    assert only.matches(scope)
    assert (only.scope, ScopePattern.parse(str(only))) == (scope, only)
    assert only.matches(Scope(workspace, observer, other)) is (other == observed)
    assert only.matches(Scope(other, observer, observed)) is (other == workspace)


@pytest.mark.parametrize("text", ["acme", "acme/*", "a/b/c/d", "//", "acme/ /x"])
def test_what_names_no_scopes_is_refused(text: str):
    with pytest.raises(InvalidScopeError):
        ScopePattern.parse(text)
