from .domain.actor import Actor as Actor, ActorKind as ActorKind
from .domain.conversation import Turn as Turn
from .domain.decay import Decay as Decay
from .domain.memory import Level as Level, MemoryEntry as MemoryEntry, Status as Status, Trust as Trust
from .domain.question import (
    Question as Question,
    QuestionCause as QuestionCause,
    QuestionState as QuestionState,
    QuestionVerdict as QuestionVerdict,
)
from .domain.scope import Scope as Scope
from .domain.session_peer import SessionPeer as SessionPeer
from .domain.signals import Feedback as Feedback, Purpose as Purpose, ToolCall as ToolCall, WispRun as WispRun
from .domain.skill import Skill as Skill
from .domain.subject_time import SubjectTime as SubjectTime
from .errors import AgentcoreError as AgentcoreError
from .hosting.builder import AgentHostBuilder as AgentHostBuilder
from .hosting.context import TurnContext as TurnContext
from .hosting.host import Host as Host
from .hosting.lifecycle import BackgroundService as BackgroundService, HostedService as HostedService
from .hosting.sync_host import SyncHost as SyncHost
from .hosting.tools.actions import ForgetQuestion as ForgetQuestion
from .hosting.tools.agent_tools import AgentTools as AgentTools
from .recall.results import Hit as Hit
from .stores.acting import acting_as as acting_as
from .stores.forgetting import TurnsChoice as TurnsChoice
