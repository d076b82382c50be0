"""Processes of this machine: which one this is, and whether another is still there."""

import os
import platform
from pathlib import Path

_PROC = Path("/proc")
_DEAD = frozenset({"Z", "X", "x"})


def machine() -> str:
    """Return this machine's name."""
    return platform.node()


def process_mark(pid: int) -> str:
    """Return what tells process *pid* from a later one with the same number: kernel, process namespace, start tick.

    Without /proc, or when the process is gone, it is shorter: whatever could not be learned is missing.
    """
    return ".".join((*_kernel(), _start_tick(pid) or ""))


def is_gone(host: str, pid: int, mark: str) -> bool:
    """Tell whether the process is certainly no more; one that cannot be seen from here counts as living.

    Args:
        host: The `machine` it ran on.
        pid: Its number there.
        mark: Its `process_mark`, as it was when it was written down.
    """
    *kernel, tick = mark.split(".")
    if host != machine() or tuple(kernel) != _kernel():
        return False
    if not _answers(pid):
        return True
    present = _start_tick(pid)
    return present == "" or (bool(present) and bool(tick) and present != tick)


def _kernel() -> tuple[str, str]:
    """Return the boot and the process namespace: in another one of either, a number names another process."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return boot.replace("-", ""), (_PROC / "self/ns/pid").readlink().name.strip("pid:[]")
    except OSError:
        return "", ""


def _start_tick(pid: int) -> str | None:
    """Return the tick at which *pid* started, empty for a zombie, None where the kernel does not tell."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        return "" if fields[0] in _DEAD else fields[19]
    except (OSError, IndexError):
        return None


def _answers(pid: int) -> bool:
    if os.name == "nt":
        return True  # there, signal 0 is Ctrl+C
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
