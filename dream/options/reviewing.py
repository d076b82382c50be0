"""What becomes of a pass's changes, and how long those wait that a person has to approve."""

from datetime import timedelta
from typing import ClassVar

from pydantic import Field

from agentcore.hosting.options import Options

OTHERS = "*"
"""What stands in `DreamOptions.modes` for every pass that is not named there."""


class ReviewOptions(Options):
    """How much may wait for a person, and how long."""

    section: ClassVar[str] = "dreaming.review"
    """What its fields are called after in errors."""

    expire_after: timedelta = Field(default=timedelta(days=30), gt=timedelta(0))
    """A proposal that nobody decided for so long is dropped; it is never applied by itself."""
    max_waiting: int | None = Field(default=200, ge=1)
    """Proposals of a scope that wait at once, of all passes together. None: no bound."""
    per_day: int | None = Field(default=50, ge=1)
    """Proposals made for a scope in a day (UTC), of all passes together. None: no bound."""
