"""Ends a program that stays when somebody says so."""

import asyncio
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

_ENDING = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stopping_on_signals(stop: Callable[[], None]) -> Generator[None]:
    """Have SIGTERM and Ctrl+C call *stop* within the block, instead of ending the program at once."""
    loop = asyncio.get_running_loop()
    heard: list[signal.Signals] = []
    for one in _ENDING:
        with suppress(NotImplementedError):  # Windows has no handlers on a loop: there Ctrl+C interrupts
            loop.add_signal_handler(one, stop)
            heard.append(one)
    try:
        yield
    finally:
        for one in heard:
            loop.remove_signal_handler(one)
