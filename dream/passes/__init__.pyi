from .order import (
    ORDER as ORDER,
    PassSlot as PassSlot,
    arranged as arranged,
    brought as brought,
)
from .protocol import (
    DreamContext as DreamContext,
    DreamPass as DreamPass,
    ModelContext as ModelContext,
    ModelPass as ModelPass,
    PassView as PassView,
    ScopeRecall as ScopeRecall,
)
