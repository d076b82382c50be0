from .failures import (
    WispFailures as WispFailures,
)
