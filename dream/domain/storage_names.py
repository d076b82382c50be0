"""Names dreams in the storage."""

from __future__ import annotations

from typing import Final

from dream.domain.built_in_passes import SESSION_EVALUATION

DREAM_LEASE: Final = "dream"
"""The lease of whoever dreams on a scope."""
PAUSED_SETTING: Final = "dream.paused"
"""The setting that a person's pause leaves."""
EDITED_OPTIONS: Final = "dream.options"
"""The setting with the values of options that an admin edited."""
OPTION_EDITS: Final = "dream.option_edits"
"""The setting with the edits themselves: who, when, what was there before."""
SESSION_EVALUATOR: Final = SESSION_EVALUATION.name
"""The service that sums conversations up, by which options switch it off."""
