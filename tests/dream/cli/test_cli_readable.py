"""All that is kept about a person, on a page that they can read."""

import stat
from pathlib import Path

from commandline import CommandLine


def test_all_that_scopes_keep_about_a_peer_is_on_one_page(cli: CommandLine, tmp_path: Path):
    for scope, text in (
        ("acme/agent/ana", "Ana sings."),
        ("acme/other/ana", "Ana\nmoved."),
        ("acme/agent/ben", "Ben."),
    ):
        assert cli("--scope", scope, "remember", text).code == 0
    assert cli("--scope", "acme/agent/ana", "never", "my health", "--yes").code == 0
    page = cli("export", "--all-of", "ana", "--readable")
    assert page.code == 0
    for told in ("# What is kept about ana", "## acme/agent/ana", "- Ana sings.", "- Ana moved.", "- my health"):
        assert told in page.out.splitlines()
    assert "Ben." not in page.out
    path = tmp_path / "ana.md"
    assert cli("export", "--all-of", "ana", "--readable", "--output", path).code == 0
    assert path.read_text() == page.out
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_certificate_names_pages_of_a_peer_and_databases_with_a_copy(cli: CommandLine, tmp_path: Path):
    for scope in ("acme/agent/ana", "acme/agent/ben"):
        cli.good("--scope", scope, "remember", "Somebody sings.")
    page, other = tmp_path / "ana.md", CommandLine(cli._capture, tmp_path / "other")
    assert cli("export", "--all-of", "ana", "--readable", "--output", page).code == 0
    erase = ("forget", "--everything", "--yes")
    cli.good("--scope", "acme/agent/gone", "remember", "Somebody sang.")
    cli.good("--scope", "acme/agent/gone", *erase)
    assert "Copied 2 scopes with 2 entries" in cli.good("copy", "--from", cli.data, "--to", other.data)
    ana = "\n".join(cli.json("--scope", "acme/agent/ana", *erase)["beyond_reach"])
    assert f"readable export {page} of " in ana
    assert f"copy {other.database} of " in ana
    assert f"copy {cli.database} of " in "\n".join(other.json("--scope", "acme/agent/ana", *erase)["beyond_reach"])
    assert str(page) not in "\n".join(cli.json("--scope", "acme/agent/ben", *erase)["beyond_reach"])


def test_a_copy_takes_the_place_of_no_other_key_of_forgotten_texts(cli: CommandLine, tmp_path: Path):
    for one in (cli, CommandLine(cli._capture, tmp_path / "other")):
        one.good("remember", "Somebody sings in the old choir by the river every single Tuesday evening.")
        one.good("forget", one.json("list")["entries"][0]["id"], "--yes")
    key = tmp_path / "other" / "forget.key"
    before = key.read_bytes()
    (tmp_path / "other" / "agentcore.db").unlink()
    told = cli("copy", "--from", cli.data, "--to", tmp_path / "other")
    assert (told.code, "is that of other forgotten texts; name a folder" in told.complaint) == (2, True)
    assert [one.name for one in (tmp_path / "other").iterdir()] == ["forget.key"]
    assert key.read_bytes() == before


def test_a_peer_whom_no_scope_is_about_is_said_so(cli: CommandLine):
    cli.good("remember", "Ana sings.")
    told = cli("export", "--all-of", "nobody", "--readable")
    assert (told.code, "peer" in told.complaint) == (2, True)


def test_a_peer_of_one_customer_is_told_apart_from_one_of_the_same_name(cli: CommandLine):
    for scope in ("acme/agent/ana", "beta/agent/ana"):
        cli.good("--scope", scope, "remember", f"Ana of {scope} sings.")
    page = cli.good("--scope", "acme/*/*", "export", "--all-of", "ana", "--readable")
    assert ("acme/agent/ana" in page, "beta" in page) == (True, False)


def test_the_two_options_go_together(cli: CommandLine):
    cli.good("remember", "Ana sings.")
    assert cli("export", "--all-of", "agent").code == 2
    assert cli("export", "--readable").code == 2
