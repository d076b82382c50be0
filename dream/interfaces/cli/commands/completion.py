"""Runs `dream completion`."""

from typing import Literal

from dream.interfaces.cli.session import CliSession


def completion(shell: Literal["bash", "zsh", "fish"], /, *, session: CliSession) -> None:
    """Print the script that completes commands and options in your shell.

    For bash: `dream completion bash > ~/.local/share/bash-completion/completions/dream`.

    Args:
        shell: Which one.
        session: Where output goes.
    """
    from dream.interfaces.cli.app import build_app  # noqa: PLC0415 - the commands are listed there

    script = build_app().generate_completion(shell=shell, prog_name="dream")
    session.screen.write(script.encode())
