"""Defines the options of the host's services: frozen, checked when made, extra names refused.

pydantic checks them; its errors are told in the sentences of `agentcore.errors`.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Set as AbstractSet
from datetime import timedelta
from functools import cache
from typing import Any, ClassVar, Self, TypeVar, cast, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from agentcore.domain.decay import Decay
from agentcore.domain.memory import Trust
from agentcore.domain.text import MAX_CONTENT, clean_category
from agentcore.errors import FrozenOptionsError, InvalidOptionsError
from agentcore.hosting.durations import MEANT_IN_DAYS, is_ambiguous, read_duration
from agentcore.llm.chat import estimate_tokens
from agentcore.recall.dense import DenseOptions
from agentcore.recall.options import RecallOptions, TurnOptions
from agentcore.secrets import SecretPolicy
from agentcore.stores.values import Synchronous
from agentcore.workspace.workspaces import GitUse

E = TypeVar("E", bound=Exception)

_DECAY = Decay()
_RECALL = RecallOptions()
_TURNS = TurnOptions()
_DENSE = DenseOptions()

_WANTED = {
    "bool": "write true or false",
    "int": "write a whole number",
    "float": "write a number",
    "string": "write a text",
    "time_delta": "write a duration such as 30s, 4h or 45d, or by ISO 8601, such as PT4H",
    "dict": "write a table",
    "mapping": "write a table",
    "model": "write a table",
    "tuple": "write a list",
    "list": "write a list",
    "frozen_set": "write a list",
    "callable": "give a function, which only code can",
    "union_tag_not_found": "add its kind",
}
"""What is told where a value has the wrong type, by how pydantic's name of the problem begins."""


class Options(BaseModel):
    """Base of all options: immutable, changed by `replace`.

    Raises:
        InvalidOptionsError: an option is unknown or cannot have its value.
        ExceptionGroup: several are; one `InvalidOptionsError` for each.

    Example:
        >>> MemoryOptions().replace(floor=0.2).floor
        0.2
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    section: ClassVar[str] = ""
    """What its fields are called after in errors."""

    renamed: ClassVar[Mapping[str, str]] = {}
    """Names that its fields had before, which are still taken, and what they are called now."""

    def __init__(self, **values: Any) -> None:
        if not values and self._defaults_need_no_check():
            # Nothing was said: pydantic takes milliseconds to make ready for checking what is right already.
            made = type(self).model_construct()
            object.__setattr__(self, "__dict__", made.__dict__)
            for name in ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__"):
                object.__setattr__(self, name, getattr(made, name))
            return
        given, refused = self._with_durations(self.current_names(values))
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise together([*refused, *_refusals(type(self), error)]) from None
        if refused:
            raise together(refused)

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse it with the line that does it."""
        raise FrozenOptionsError(options=type(self).__name__, field=name, value=value)

    @classmethod
    def _with_durations(cls, values: Mapping[str, Any]) -> tuple[dict[str, Any], list[InvalidOptionsError]]:
        """Return values with durations read, and refusals of those whose unit nobody can know."""
        read, refused = dict(values), list[InvalidOptionsError]()
        for name, default in cls._durations().items():
            value = read.get(name)
            if is_ambiguous(value, default):
                refused.append(InvalidOptionsError(field=f"{cls.section}.{name}", value=value, allowed=MEANT_IN_DAYS))
                del read[name]
            elif isinstance(value, str):
                read[name] = value if (found := read_duration(value)) is None else found
        return read, refused

    @classmethod
    @cache
    def _durations(cls) -> dict[str, object]:
        """Return the names of the fields that are durations, with their defaults."""
        fields = cls.model_fields.items()
        return {
            name: field.default
            for name, field in fields
            if timedelta in (field.annotation, *get_args(field.annotation))
        }

    @classmethod
    @cache
    def _defaults_need_no_check(cls) -> bool:
        """Tell whether every field has a default, and nothing but the fields' own types says what it may be."""
        fields = cls.model_fields.values()
        free = not any(field.is_required() or field.validate_default for field in fields)
        return free and not cls.__pydantic_decorators__.model_validators

    def replace(self, **changes: object) -> Self:
        """Return a checked copy with other values in some fields."""
        changed = self.current_names(changes)
        return type(self)(**(dict(self) | changed)).having_said(self.model_fields_set | changed.keys())

    def having_said(self, names: AbstractSet[str]) -> Self:
        """Note that only *names* of its fields were said by anybody, and return it; for who makes options of others."""
        object.__setattr__(self, "__pydantic_fields_set__", set(names))
        return self

    @classmethod
    def current_names(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values with what options are called now in the place of what they were called, and tell so once.

        A name that is given in both ways stays, and is refused as unknown.
        """
        named: dict[str, Any] = {}
        for given, value in values.items():
            name = cls.renamed.get(given, given)
            if name != given and name in values:
                name = given
            elif name != given:
                told = f"Option {cls.section}.{given} is called {cls.section}.{name} now: write the new name."
                warnings.warn(told, FutureWarning, stacklevel=2)
            kind = cls.model_fields[name].annotation if name in cls.model_fields else None
            if isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, Options):
                named[name] = kind.current_names(cast("dict[str, Any]", value))
            else:
                named[name] = value
        return named


class MemoryOptions(Options):
    """How memory fades and how recall ranks."""

    section: ClassVar[str] = "memory"
    renamed: ClassVar[Mapping[str, str]] = {
        "recall_kept": "recall_log_retention",
        "index_bytes": "max_index_bytes",
        "snapshot_from": "snapshot_min_entries",
    }

    grace: timedelta = _DECAY.grace
    """How long an entry keeps its importance after a reinforcement; 0 or more."""
    half_life: timedelta = _DECAY.half_life
    """Time after the grace in which importance halves; zero or less switches decay off."""
    floor: float = _DECAY.floor
    """Importance at which fading ends, 0..1."""
    k1: float = _RECALL.k1
    """How soon repetitions of a word stop counting in recall; 0 or more."""
    b: float = _RECALL.b
    """How much recall holds long entries back, 0..1; of one that is cut into passages, how much long passages are."""
    passage_tokens: int = _RECALL.passage_tokens
    """Size of the passages that long entries are cut into for recall, in tokens of four bytes; 16 or more."""
    length_weight: float = _RECALL.length_weight
    """How much the length of an entry of many passages takes of its recall score; 0 or more."""
    importance_weight: float = _RECALL.importance_weight
    """Share of a recall score that importance decides, from 0 to below 1."""
    recency_weight: float = _RECALL.recency_weight
    """Share of a recall score that recency decides, from 0 to below 1."""
    recency_half_life: timedelta = _RECALL.recency_half_life
    """Time since an entry was last seen in which its recency halves; above 0."""
    phrase_weight: float = _RECALL.phrase_weight
    """How much higher an entry scores that has the query's neighbouring words next to each other; 0 or more."""
    recall_log_retention: timedelta = Field(default=timedelta(days=90), ge=timedelta(0))
    """How long it is known which entries were needed; zero records nothing."""
    max_index_bytes: int = _RECALL.max_index_bytes
    """Memory that the recall indexes of all scopes may take, in bytes; the one unused for longest makes room."""
    snapshot_min_entries: int | None = _RECALL.snapshot_min_entries
    """Entries, or turns, from which a scope's recall index of them is kept in a file beside the database; None keeps
    none."""
    secrets: SecretPolicy = SecretPolicy.REFUSE
    """What becomes of a password, a key or the like that a tool of the agent or a client of the server is asked to
    remember: `refuse`, or `keep` it. The host's own code decides for itself, and dreams write none."""
    synchronous: Synchronous = Synchronous.NORMAL
    """When what is written reaches the disk itself: `normal` soon, so that a power cut may cost the last writes; `full`
    before a write is told as done."""

    @model_validator(mode="after")
    def _have_meaning(self) -> Self:
        self.decay()
        self.recall()
        return self

    def decay(self) -> Decay:
        """Return how importance fades."""
        return Decay(grace=self.grace, half_life=self.half_life, floor=self.floor)

    def recall(self) -> RecallOptions:
        """Return how recall ranks."""
        return RecallOptions(
            k1=self.k1,
            b=self.b,
            passage_tokens=self.passage_tokens,
            length_weight=self.length_weight,
            importance_weight=self.importance_weight,
            recency_weight=self.recency_weight,
            recency_half_life=self.recency_half_life,
            phrase_weight=self.phrase_weight,
            max_index_bytes=self.max_index_bytes,
            snapshot_min_entries=self.snapshot_min_entries,
        )


class EmbeddingOptions(Options):
    """How vectors take part in the recall of entries."""

    section: ClassVar[str] = "embeddings"
    renamed: ClassVar[Mapping[str, str]] = {"rest": "retry_after"}

    weight: float = _DENSE.weight
    """Share of the relevance that vectors decide, above 0 and below 1."""
    query_timeout: timedelta = _DENSE.query_timeout
    """Time the embedding model has for the vector of a query; after it words alone answer."""
    batch: int = _DENSE.batch
    """Texts that the model is given at once, 1 or more."""
    retry_after: timedelta = _DENSE.retry_after
    """Time the model is left alone after it failed; 0 or more."""

    @model_validator(mode="after")
    def _have_meaning(self) -> Self:
        self.dense()
        return self

    def dense(self) -> DenseOptions:
        """Return how vectors take part."""
        return DenseOptions(
            weight=self.weight, query_timeout=self.query_timeout, batch=self.batch, retry_after=self.retry_after
        )


class ConversationOptions(Options):
    """How far a turn is trusted that comes without a trust of its own, and how turns are recalled."""

    section: ClassVar[str] = "conversation"

    user_trust: Trust = Trust.STATED
    """Trust of what people say; `UNTRUSTED` where anybody may talk to the agent."""
    assistant_trust: Trust = Trust.INFERRED
    """Trust of the agent's own words."""
    system_trust: Trust = Trust.STATED
    """Trust of the host's own prompts."""
    tool_trust: Trust = Trust.UNTRUSTED
    """Trust of what tools bring in from outside."""
    k1: float = _TURNS.k1
    """How soon repetitions of a word in one passage of a turn stop counting in recall; 0 or more."""
    b: float = _TURNS.b
    """How much recall holds long passages back, 0..1."""
    passage_tokens: int = _TURNS.passage_tokens
    """Size of the passages that long turns are cut into for recall, in tokens of four bytes; 16 or more."""
    length_weight: float = _TURNS.length_weight
    """How much the length of a turn of many passages takes of its recall score; 0 or more."""
    next_weight: float = _TURNS.next_weight
    """Share of the recall score of the turns before and after it that a turn gets; 0 or more."""
    second_weight: float = _TURNS.second_weight
    """The same of the turns two away; 0 or more."""
    session_weight: float = _TURNS.session_weight
    """Share of its session's recall score that a turn gets; 0 or more."""
    session_k1: float = _TURNS.session_k1
    """How soon repetitions of a word in one session stop counting; 0 or more."""
    session_b: float = _TURNS.session_b
    """How much long sessions are held back, 0..1."""

    @model_validator(mode="after")
    def _have_meaning(self) -> Self:
        self.recall()
        return self

    def recall(self) -> TurnOptions:
        """Return how recall ranks turns."""
        return TurnOptions(
            k1=self.k1,
            b=self.b,
            passage_tokens=self.passage_tokens,
            length_weight=self.length_weight,
            next_weight=self.next_weight,
            second_weight=self.second_weight,
            session_weight=self.session_weight,
            session_k1=self.session_k1,
            session_b=self.session_b,
        )


class SkillOptions(Options):
    """How far a skill is trusted that is saved without a trust of its own."""

    section: ClassVar[str] = "skills"

    trust: Trust = Trust.STATED
    """Trust of what the host saves."""


class ContextOptions(Options):
    """What a turn is given of what the agent knows."""

    section: ClassVar[str] = "context"
    renamed: ClassVar[Mapping[str, str]] = {"most_skills": "max_skills", "short_message": "short_message_words"}

    window: int = Field(default=10, ge=0)
    """Turns of a conversation that the agent still sees: what it was given in them is not given again; 0 gives
    everything anew each time."""
    always_categories: tuple[str, ...] = ("user-preferences",)
    """Categories whose entries, with all below, are always loaded; pinned entries are too."""
    always_share: float = Field(default=0.3, ge=0.0, le=1.0)
    """Share of the budget that always-loaded entries take at most."""
    card_share: float = Field(default=0.2, ge=0.0, le=1.0)
    """Share of the budget that the peer card takes at most, where there is one; 0 leaves it out."""
    document_share: float = Field(default=0.15, ge=0.0, le=1.0)
    """Share of a turn's budget that MEMORY.md may take, where there is a workspace; 0 leaves the file out."""
    standing_share: float = Field(default=0.2, ge=0.0, le=1.0)
    """Share of the budget that wishes of persons take at most which no always-loaded entry tells of; 0 for none."""
    hypotheses_share: float = Field(default=0.0, ge=0.0, le=1.0)
    """Share of the budget that hypotheses which have to do with the message take at most, marked as unproven."""
    skills_share: float = Field(default=0.15, ge=0.0, le=1.0)
    """Share of the budget that skills take at most."""
    max_skills: int = Field(default=3, ge=0)
    """Skills named at most."""
    short_message_words: int = Field(default=5, ge=0)
    """Words up to which a message is searched for together with the two turns before it."""
    count_tokens: Callable[[str], int] = estimate_tokens
    """Counts the tokens of the block; else a token per four bytes."""

    @field_validator("always_categories")
    @classmethod
    def _are_categories(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(clean_category(one) for one in given)


class FeedbackOptions(Options):
    """What the feedback log keeps."""

    section: ClassVar[str] = "feedback"

    max_detail: int = Field(default=4_000, ge=0, le=MAX_CONTENT)
    """Characters of a detail that are kept; the rest is cut off."""


class WispOptions(Options):
    """What the wisp log keeps."""

    section: ClassVar[str] = "wisps"

    max_definition: int = Field(default=20_000, ge=0, le=MAX_CONTENT)
    """Longest definition kept with a successful run, in characters; a longer one is left out."""


class ToolCallOptions(Options):
    """What the log of tool calls keeps."""

    section: ClassVar[str] = "tool_calls"

    max_text: int = Field(default=400, ge=0, le=MAX_CONTENT)
    """Characters of arguments and error messages that are kept; the rest is cut off."""


class WorkspaceOptions(Options):
    """What is done with the documents of the workspace."""

    section: ClassVar[str] = "workspace"

    folder: str | None = None
    """Where they are, for hosts whose code does not say: a folder below the data directory or an absolute one, in which
    `{workspace}`, `{observer}` and `{observed}` stand for the parts of a scope, as in `notes/{observer}`."""
    git: GitUse = GitUse.AUTO
    """Whether what dreams write is committed: `auto` if the workspace is a repository, `init` always, `off` never."""


def together(refusals: Sequence[E]) -> "E | ExceptionGroup[E]":
    """Return the one refusal itself, or a group of several.

    Example:
        >>> together([ValueError("no")])
        ValueError('no')
    """
    return refusals[0] if len(refusals) == 1 else ExceptionGroup("Several options are not possible", refusals)


def _refusals(options: type[Options], error: ValidationError) -> list[InvalidOptionsError]:
    return [_refusal(options, problem) for problem in error.errors(include_url=False)]


def _refusal(options: type[Options], problem: Mapping[str, Any]) -> InvalidOptionsError:
    cause = problem.get("ctx", {}).get("error")
    if isinstance(cause, InvalidOptionsError):
        return cause
    field = ".".join(str(part) for part in (options.section, *problem["loc"]) if part != "")
    allowed = f"there is none of that name; {suggested(str(problem['loc'][-1]), options.model_fields)}"
    if problem["type"] != "extra_forbidden":
        allowed = _wanted(problem)
    return InvalidOptionsError(field=field, value=problem["input"], allowed=allowed)


def suggested(name: str, known: Iterable[str]) -> str:
    """Return what to write in the place of a name that does not exist.

    Example:
        >>> suggested("flor", ["grace", "floor"])
        'perhaps you mean floor; the options are floor, grace'
    """
    from difflib import get_close_matches  # noqa: PLC0415 - seldom wanted

    names = sorted(known)
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    return "".join(f"perhaps you mean {one}; " for one in near) + f"the options are {', '.join(names)}"


def _wanted(problem: Mapping[str, Any]) -> str:
    kind: str = problem["type"]
    if kind == "union_tag_invalid":
        return f"its kind is one of {problem['ctx']['expected_tags']}"
    if kind == "is_instance_of":
        return f"only code can give it, as {problem['ctx']['class']}"
    for ending in ("", "_type", "_parsing", "_from_float", "_attributes_type"):
        told = _WANTED.get(kind.removesuffix(ending))
        if told is not None:
            return told
    message: str = problem["msg"]
    return message[:1].lower() + message[1:]
