"""Preferences: what users show that they want, without having said that it is to be remembered."""

from dream.passes.preferences.inference import PreferenceInference

__all__ = ["PreferenceInference"]
