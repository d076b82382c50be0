from .order import (
    CARD_ALONE as CARD_ALONE,
    EXISTING as EXISTING,
    ORDER as ORDER,
    PassSlot as PassSlot,
    arranged as arranged,
    brought as brought,
    library_of as library_of,
    require_names as require_names,
)
from .prompts import (
    PromptTurn as PromptTurn,
    line as line,
    shown_turns as shown_turns,
)
from .protocol import (
    DreamContext as DreamContext,
    DreamPass as DreamPass,
    ModelContext as ModelContext,
    ModelPass as ModelPass,
    PassView as PassView,
    ScopeRecall as ScopeRecall,
)
