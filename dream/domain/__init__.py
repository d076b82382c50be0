"""Values of the dream: changes, proposals, reports, reason codes."""
