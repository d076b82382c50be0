"""Episodes: what happened in conversations, told once and met again."""

from dream.passes.episodes.extraction import EpisodeExtraction

__all__ = ["EpisodeExtraction"]
