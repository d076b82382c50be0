from .cycle.card import Card as Card
from .cycle.desk import Desk as Desk
from .cycle.dreams import Dreams as Dreams
from .domain.asked_question import AskedQuestion as AskedQuestion
from .domain.forecast import PassForecast as PassForecast
from .domain.refused import RefusedText as RefusedText
from .domain.report import Alarm as Alarm, PassReport as PassReport, RunReport as RunReport
from .domain.session import DreamSession as DreamSession, ModelCall as ModelCall
from .domain.usage import UsageKey as UsageKey, UsageRow as UsageRow
from .domain.waiting import WaitingProposal as WaitingProposal
from .errors import DreamError as DreamError
from .interfaces.asgi import asgi_app as asgi_app
from .options import DreamOptions as DreamOptions
