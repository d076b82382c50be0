"""REM: the diary tells which themes recall keeps coming back to."""

from dream.passes.rem.rem_pass import Rem

__all__ = ["Rem"]
