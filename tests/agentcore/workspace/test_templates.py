"""The settings file names the folder of each scope's documents."""

from pathlib import Path

import pytest

from agentcore.domain.scope import Scope
from agentcore.domain.scope_pattern import ScopePattern
from agentcore.errors import InvalidInputError, InvalidOptionsError
from agentcore.hosting.builder import AgentHostBuilder
from agentcore.workspace.errors import InvalidWorkspaceError
from agentcore.workspace.templates import WorkspacePlan, WorkspaceTemplate
from agentcore.workspace.workspaces import Workspaces

REX, ANA = Scope.parse("acme/rex/ana"), Scope.parse("acme/agent/ana")


def written(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "agentcore.toml").write_text(text, "utf-8")
    return folder


def test_each_personality_has_a_folder_that_is_made_when_it_is_first_wanted(tmp_path: Path):
    plan = WorkspacePlan([WorkspaceTemplate(tmp_path, "notes/{observer}")])
    workspaces = Workspaces(plan)
    found = workspaces.folder(REX)
    assert found is not None
    assert found.root == (tmp_path / "notes" / "rex").resolve()
    assert not (tmp_path / "notes" / "agent").exists()


def test_the_narrowest_text_decides_and_code_wins(tmp_path: Path):
    own = tmp_path / "own"
    templates = [
        WorkspaceTemplate(tmp_path, "all/{observer}-{observed}"),
        WorkspaceTemplate(tmp_path, "acme/{observer}", ScopePattern.parse("acme/*/*")),
    ]
    plan = WorkspacePlan(templates, lambda scope: own if scope == ANA else None)
    assert [plan(one) for one in (REX, ANA, Scope.default())] == [
        tmp_path / "acme" / "rex",
        own,
        tmp_path / "all" / "agent-agent",
    ]


def test_a_text_without_a_part_of_the_scope_is_that_of_the_default_scope(tmp_path: Path):
    plan = WorkspacePlan([WorkspaceTemplate(tmp_path, "notes")])
    assert plan(Scope.default()) == tmp_path / "notes"
    assert plan(REX) is None


def test_two_scopes_in_one_folder_are_refused(tmp_path: Path):
    workspaces = Workspaces(WorkspacePlan([WorkspaceTemplate(tmp_path, "notes/{observer}")]))
    workspaces.folder(REX)
    with pytest.raises(InvalidWorkspaceError, match="it is that of acme/rex/ana already"):
        workspaces.folder(Scope.parse("acme/rex/ben"))


@pytest.mark.parametrize("observer", ["..", ".", ".git", "a\\b", "C:", "end.", "end "])
def test_an_observer_that_is_no_name_of_a_folder_is_refused(tmp_path: Path, observer: str):
    template = WorkspaceTemplate(tmp_path, "notes/{observer}")
    with pytest.raises(InvalidWorkspaceError, match="is no name of a folder"):
        template.path(Scope("acme", observer, "ana"))
    assert not (tmp_path / "notes").exists()


def test_a_scope_cannot_name_a_way_out_of_the_folder_at_all():
    with pytest.raises(InvalidInputError, match="without a slash"):
        Scope("acme", "../x", "ana")


@pytest.mark.parametrize("text", ["", " ", "notes/{user}", "a\nb"])
def test_a_text_that_names_no_folder_is_refused(tmp_path: Path, text: str):
    with pytest.raises(InvalidOptionsError):
        WorkspaceTemplate(tmp_path, text)


async def test_a_host_takes_its_workspaces_from_the_file(tmp_path: Path):
    folder = written(
        tmp_path / "data",
        'workspace = "notes/{observer}"\n[scopes."acme/rex/*"]\nworkspace = "rex/{observed}"\n',
    )
    async with AgentHostBuilder(folder).with_memory().build() as host:
        await host.for_scope(ANA).workspace.append("MEMORY.md", "Ana likes tea.")
        await host.for_scope(REX).workspace.append("MEMORY.md", "Ana fears Rex.")
    assert "tea" in (folder / "notes" / "agent" / "MEMORY.md").read_text("utf-8")
    assert "fears" in (folder / "rex" / "ana" / "MEMORY.md").read_text("utf-8")
