from .answer import (
    judged as judged,
    read_items as read_items,
)
from .diary import (
    Told as Told,
)
from .rem_pass import (
    Rem as Rem,
)
from .themes import (
    Recollection as Recollection,
    themes_of as themes_of,
    truths_of as truths_of,
)
