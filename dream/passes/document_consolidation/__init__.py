"""Document consolidation: the model proposes edits of MEMORY.md, item by item; the host checks each of them."""

from dream.passes.document_consolidation.consolidation import DocumentConsolidation

__all__ = ["DocumentConsolidation"]
