"""What a run writes reaches the files once, loses nobody's words, and can be taken back."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from dreaming import World, codes, fresh_scope, of_pass
from interrupting import Killed, bury, count_writes, dying
from scribe import Scribe, saying

from agentcore.workspace import Document, GitUse, Remove, Workspaces
from dream.cycle import Documents
from dream.domain import PassOutcome, RunReport
from dream.passes.exact_fold import ExactFold
from dream.stores import dream_stores

PERSON = "\ufeff# Notes\r\n\r\n* Bo likes tea\r\n* Cy moved"


async def write(world: World, scribe: Scribe | None = None) -> RunReport:
    return await world.run_passes(scribe or Scribe())


async def waiting(world: World) -> int:
    return len(await world.storage.read(world.scope, lambda view: dream_stores(view).outbox.waiting()))


async def test_a_run_writes_the_file_says_so_and_is_undone_byte_for_byte(shared: World, folder: Path):
    file = folder / "MEMORY.md"
    file.write_bytes(PERSON.encode())
    file.chmod(0o640)
    before = await shared.export()
    report = await write(shared)
    written = file.read_bytes().decode()
    assert written == PERSON + "\r\n\r\n# Dreamed\r\n\r\n- Ana moved to Lisbon"
    assert file.stat().st_mode & 0o777 == 0o640
    notes = of_pass(report, "scribe").notes
    assert (notes["documents"], notes["commit"]) == (["MEMORY.md"], "no_repository")
    assert await waiting(shared) == 0
    undone = await shared.dreams.undo(report.run_id)
    assert file.read_bytes().decode() == PERSON
    assert await shared.export() == before  # not even the record of the file as it was first read
    redone = await shared.dreams.undo(undone.run_id)
    assert file.read_bytes().decode() == written
    await shared.dreams.undo(redone.run_id)
    assert file.read_bytes().decode() == PERSON
    assert await shared.export() == before


async def test_the_undo_of_a_dream_that_first_read_a_file_and_left_it_leaves_no_record_of_it(
    shared: World, folder: Path
):
    (folder / "MEMORY.md").write_text("- Bo likes tea\n")
    await shared.add("Ana likes tea", "Ana likes  TEA.")
    before = await shared.export()
    report = await shared.run_passes(ExactFold())
    assert report.changes > 0
    assert b'"document"' in await shared.export()
    await shared.dreams.undo(report.run_id)
    assert await shared.export() == before


async def test_a_file_that_was_not_there_is_gone_after_the_undo(shared: World, folder: Path):
    before = await shared.export()
    report = await write(shared)
    assert (folder / "MEMORY.md").exists()
    await shared.dreams.undo(report.run_id)
    assert not (folder / "MEMORY.md").exists()
    assert await shared.export() == before


async def test_what_a_person_writes_meanwhile_stays_and_the_run_is_added_to_it(shared: World, folder: Path):
    file = folder / "MEMORY.md"
    file.write_text("- Bo likes tea\n")
    report = await write(shared, Scribe(meanwhile=lambda: file.write_text("- Bo likes tea\n- Cy sings\n")))
    assert file.read_text() == "- Bo likes tea\n- Cy sings\n\n# Dreamed\n\n- Ana moved to Lisbon\n"
    assert of_pass(report, "scribe").outcome is PassOutcome.APPLIED
    assert [row.operation for row in await shared.dreams.diff(report.run_id)] == ["write", "document_changed"]
    stored = await shared.storage.read(shared.scope, lambda view: view.documents.get("MEMORY.md"))
    assert stored is not None
    assert stored.content == file.read_text()
    await shared.dreams.undo(report.run_id)
    assert "Ana" not in file.read_text()
    assert file.read_text().startswith("- Bo likes tea\n- Cy sings\n")


async def test_an_edit_whose_item_a_person_changed_is_reported_and_their_words_stay(shared: World, folder: Path):
    file = folder / "MEMORY.md"
    file.write_text("- Bo likes tea\n- Cy sings\n")
    scribe = Scribe(
        edits=lambda document: [Remove(document.items[0].id)],
        meanwhile=lambda: file.write_text("- Bo likes coffee now\n- Cy sings\n"),
    )
    report = await write(shared, scribe)
    assert file.read_text() == "- Bo likes coffee now\n- Cy sings\n"
    assert codes(of_pass(report, "scribe")) == ["document_changed"]
    assert "1 of 1" in of_pass(report, "scribe").refused[0].detail


async def test_an_undo_leaves_alone_what_a_person_changed_since(shared: World, folder: Path):
    file = folder / "MEMORY.md"
    report = await write(shared, Scribe(saying("Ana moved to Lisbon", "Bo likes tea")))
    file.write_text(file.read_text().replace("Bo likes tea", "Bo likes coffee") + "- Cy sings\n")
    undone = await shared.dreams.undo(report.run_id)
    assert file.read_text() == "# Dreamed\n- Bo likes coffee\n- Cy sings\n"
    assert codes(undone.passes[0]) == ["changed_since"]


async def test_a_trial_reads_the_files_and_writes_nothing(shared: World, folder: Path):
    file = folder / "MEMORY.md"
    file.write_text("- Bo likes tea\n")
    trial = replace(shared, workspaces=shared.workspaces and shared.workspaces.read_only())
    assert of_pass(await write(trial), "scribe").accepted == 1
    assert file.read_text() == "- Bo likes tea\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"\xff\xfe", "MEMORY.md cannot be read: byte 1 is not UTF-8; save it as UTF-8"),
        (b"x" * 10_000_000, "it has 10,000,000 bytes"),
        (b"# M\n\n- a\n\n```\nnever closed\n", "its last block of code or HTML is never closed; close it first"),
        (b"<<<<<<< HEAD\n- a\n=======\n- b\n>>>>>>> other\n", "merge conflict; resolve it first"),
    ],
)
async def test_a_file_that_cannot_be_worked_on_skips_the_pass_with_a_sentence(
    shared: World, folder: Path, text: bytes, said: str
):
    (folder / "MEMORY.md").write_bytes(text)
    report = await write(shared)
    done = of_pass(report, "scribe")
    assert done.outcome is PassOutcome.SKIPPED
    assert str(done.reason).startswith("workspace: ")
    assert said in str(done.reason)
    assert (folder / "MEMORY.md").read_bytes() == text


async def test_a_file_that_becomes_unreadable_waits_and_is_written_later(shared: World, folder: Path):
    file = folder / "MEMORY.md"
    file.write_text("- Bo likes tea\n")
    report = await write(shared, Scribe(meanwhile=lambda: file.write_bytes(b"\xff")))
    assert codes(of_pass(report, "scribe")) == ["document_waits"]
    assert of_pass(await write(shared, Scribe(saying("Dee"))), "scribe").outcome is PassOutcome.SKIPPED
    file.write_text("- Bo likes tea\n")
    assert (await Documents(shared.parts, shared.scope).deliver()).problem is None
    assert file.read_text() == "- Bo likes tea\n\n# Dreamed\n\n- Ana moved to Lisbon\n"


async def test_two_scopes_do_not_share_a_folder_and_a_scope_without_one_is_told(shared: World, folder: Path):
    await write(shared)
    other = replace(shared, scope=fresh_scope())
    assert "it is that of" in str(of_pass(await write(other), "scribe").reason)
    alone = replace(other, workspaces=Workspaces(folder))
    assert "the scope has no workspace" in str(of_pass(await write(alone), "scribe").reason)
    none = replace(other, workspaces=None)
    assert of_pass(await write(none), "scribe").reason == "missing: workspace"


async def test_a_run_killed_between_any_two_transactions_writes_the_file_once(world: World, tmp_path: Path):
    async def go(one: World) -> None:
        await write(one)

    def prepared(number: object) -> World:
        made = tmp_path / f"w{number}"
        made.mkdir()
        (made / "MEMORY.md").write_text("- Bo likes tea\n")
        return replace(world.elsewhere(), workspaces=Workspaces(lambda _: made, GitUse.INIT))

    def text_of(number: object) -> str:
        return (tmp_path / f"w{number}" / "MEMORY.md").read_text()

    writes = await count_writes(prepared("whole"), go)
    assert text_of("whole").count("Ana moved") == 1
    deaths = 0
    for write_number in range(writes):
        for committed in (True, False):
            number = f"{write_number}{committed}"
            one = prepared(number)
            with pytest.raises(Killed):
                await go(dying(one, write_number, committed=committed))
            await bury(one)
            await Documents(one.parts, one.scope).prepare()
            if "Ana moved" not in text_of(number):  # it died before it had said so
                await go(one)
            assert text_of(number) == text_of("whole"), number
            assert commits(tmp_path / f"w{number}") == 1, number
            assert await waiting(one) == 0
            deaths += 1
    assert deaths == 2 * writes > 10


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout


def commits(folder: Path) -> int:
    return len(git(folder, "log", "--oneline").splitlines())


async def test_one_commit_holds_what_the_run_wrote_and_says_what(shared: World, folder: Path):
    shared.workspaces = Workspaces(lambda _: folder, GitUse.INIT)
    (folder / "other.md").write_text("somebody's")
    report = await write(shared, Scribe(saying("Ana moved to Lisbon", "Bo likes tea")))
    said = git(folder, "show", "--stat", "--format=%B")
    assert said.startswith("scribe: 2 more, 0 less\n\n+ MEMORY.md: Ana moved to Lisbon\n+ MEMORY.md: Bo likes tea\n")
    assert f"Run: {report.run_id}" in said
    assert "other.md" not in said
    assert len(of_pass(report, "scribe").notes["commit"]) == 40
    await shared.dreams.undo(report.run_id)
    assert commits(folder) == 2


async def test_what_is_forgotten_leaves_documents_journal_and_files(shared: World, folder: Path):
    file = folder / "MEMORY.md"
    file.write_text("- Bo likes tea\n")
    (entry,) = await shared.add("Ana moved to Lisbon in May")
    report = await write(shared, Scribe(saying("Ana moved to Lisbon in May", "Dee sings")))
    await shared.memory.forget(entry.id)
    await Documents(shared.parts, shared.scope).deliver()
    assert file.read_text() == "- Bo likes tea\n\n# Dreamed\n\n- Dee sings\n"
    assert b"Lisbon" not in await shared.export()
    assert all("Lisbon" not in f"{row.before}{row.after}" for row in await shared.dreams.diff(report.run_id))
    assert await waiting(shared) == 0
    assert codes((await shared.dreams.undo(report.run_id)).passes[0]) == ["forgotten"]


@pytest.mark.parametrize(
    ("told", "line"), [("Is ill", "Is ill"), ("Ana moved to Lisbon in May", "ana  moved to LISBON in May")]
)
async def test_a_short_text_or_one_in_another_case_leaves_the_journal_of_documents(
    shared: World, folder: Path, told: str, line: str
):
    (folder / "MEMORY.md").write_text("- Bo likes tea\n")
    (entry,) = await shared.add(told)
    report = await write(shared, Scribe(saying(line, "Dee sings")))
    await shared.memory.forget(entry.id)
    assert all(line not in f"{row.before}{row.after}" for row in await shared.dreams.diff(report.run_id))
    assert codes((await shared.dreams.undo(report.run_id)).passes[0]) == ["forgotten"]


async def test_what_dreams_wrote_is_their_own_and_what_a_person_rewrites_is_not(shared: World, folder: Path):
    file = folder / "MEMORY.md"
    file.write_text("- Bo likes tea\n")
    await write(shared, Scribe(saying("Ana moved to Lisbon", "Dee sings")))
    file.write_text(file.read_text().replace("Dee sings", "Dee hums"))
    assert await Documents(shared.parts, shared.scope).prepare() is None
    stored = await shared.storage.read(shared.scope, lambda view: view.documents.get("MEMORY.md"))
    assert stored is not None
    assert len(stored.own) == 1
    assert [item.text for item in Document(stored.content).items] == ["Bo likes tea", "Ana moved to Lisbon", "Dee hums"]
