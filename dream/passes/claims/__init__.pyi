from .dream_pass import (
    ClaimTaking as ClaimTaking,
)
