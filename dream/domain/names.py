"""Names dreams in the storage."""

from typing import Final

DREAM_LEASE: Final = "dream"
"""The lease of whoever dreams on a scope."""
PAUSED_SETTING: Final = "dream.paused"
"""The setting that a person's pause leaves."""
SESSION_EVALUATOR: Final = "session-evaluator"
"""The service that sums conversations up, by which options switch it off."""
