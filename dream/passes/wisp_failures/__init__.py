"""Wisp failures: what keeps failing is written into the skill that produced it."""

from dream.passes.wisp_failures.failures import WispFailures

__all__ = ["WispFailures"]
