"""Names dreams in the storage."""

from __future__ import annotations

from typing import Final

from dream.domain.built_in_passes import SESSION_EVALUATION

DREAM_LEASE: Final = "dream"
"""The lease of whoever dreams on a scope."""
PAUSED_SETTING: Final = "dream.paused"
"""The setting that a person's pause leaves."""
SESSION_EVALUATOR: Final = SESSION_EVALUATION.name
"""The service that sums conversations up, by which options switch it off."""
