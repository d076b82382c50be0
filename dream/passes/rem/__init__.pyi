from .diary import (
    DiaryItem as DiaryItem,
)
from .dream_pass import (
    Rem as Rem,
)
from .prompt import (
    judged as judged,
    read_items as read_items,
)
from .themes import (
    Recollection as Recollection,
    themes_of as themes_of,
    truths_of as truths_of,
)
