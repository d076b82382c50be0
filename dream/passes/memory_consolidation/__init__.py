"""Memory consolidation: the model merges and retires entries, and learns from feedback; the host checks the details."""

from dream.passes.memory_consolidation.consolidation import MemoryConsolidation

__all__ = ["MemoryConsolidation"]
