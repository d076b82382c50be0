from .answer import (
    Sentiment as Sentiment,
)
from .inference import (
    PreferenceInference as PreferenceInference,
)
from .permission import (
    needs_permission as needs_permission,
)
from .sheet import (
    Sheet as Sheet,
)
