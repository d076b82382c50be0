from .dream_pass import (
    WispFailures as WispFailures,
)
