"""The error tree of dream, below agentcore's.

AgentcoreError
└── DreamError
    ├── UnsupportedStorageError
    ├── NoModelError
    ├── NotAdmittedError
    ├── StalledPassError
    ├── PausedDreamError
    ├── DreamBrokenOffError
    ├── UnknownPassError            (also InvalidInputError)
    ├── InvalidPassError            (also InvalidInputError)
    ├── InvalidEntryPointError      (also InvalidInputError)
    ├── UnknownRunError             (also InvalidInputError)
    ├── UnknownSessionError         (also InvalidInputError)
    ├── UnknownPlanError            (also InvalidInputError)
    ├── OutdatedPlanError           (also InvalidInputError)
    ├── UnknownChangeError          (also InvalidInputError)
    ├── UnknownProposalError        (also InvalidInputError)
    ├── UnknownQuestionError        (also InvalidInputError)
    ├── AnsweredQuestionError       (also InvalidInputError)
    ├── NothingToRestoreError       (also InvalidInputError)
    ├── UnknownMemberError          (also InvalidInputError)
    ├── UnknownDirectiveError       (also InvalidInputError)
    ├── InvalidDirectiveError       (also InvalidInputError)
    ├── InvalidVocabularyError      (also InvalidInputError)
    ├── InvalidFileError            (also InvalidInputError)
    │   ├── UnreadableFileError
    │   └── UnknownSampleError
    ├── StaleRecordingError
    └── UnwritableFileError
"""

from collections.abc import Iterable, Sequence

from agentcore.errors import AgentcoreError, InvalidInputError

MOST_NAMED = 5
"""How many of the runs that a prefix fits are named."""


class DreamError(AgentcoreError):
    """Something went wrong in dream; `str(error)` is one sentence for a person."""


class UnsupportedStorageError(DreamError):
    """Dreams cannot keep their books in this storage."""

    def __init__(self, *, storage: str) -> None:
        super().__init__(f"Dreams cannot keep their books in {storage}: its units must carry a SQL transaction.")


class NoModelError(DreamError):
    """A pass asked a model that the host does not have."""

    def __init__(self, *, pass_name: str) -> None:
        super().__init__(f"The pass {pass_name} needs a model: add .with_llm(...) to the host, or disable the pass.")


class StalledPassError(DreamError):
    """A pass took step after step without doing anything or coming to an end."""

    def __init__(self, *, name: str, steps: int) -> None:
        super().__init__(f"The pass {name} got nowhere in {steps} steps: run again, or disable the pass.")


class PausedDreamError(DreamError):
    """A person paused the dreams of a scope while one was under way; it stops between two steps."""

    def __init__(self) -> None:
        super().__init__("The dreams of this scope are paused: `dream resume` lets the next one go on with this one.")


class DreamBrokenOffError(DreamError):
    """Something failed outside the passes of a dream; `problem` says what."""

    def __init__(self, *, scope: str, problem: str) -> None:
        self.problem = problem
        super().__init__(f"The dream of {scope} broke off, and what it committed stands: {problem}.")


class UnknownPassError(DreamError, InvalidInputError):
    """A pass was named that does not exist."""

    def __init__(self, *, name: str, known: Iterable[str]) -> None:
        super().__init__(f"There is no pass {name!r}: choose among {', '.join(known)}.")


class InvalidPassError(DreamError, InvalidInputError):
    """A pass of the host's own cannot join the run."""

    def __init__(self, *, name: str, problem: str) -> None:
        super().__init__(f"The pass {name} cannot join: {problem}.")


class InvalidEntryPointError(DreamError, InvalidInputError):
    """An installed package brings passes that cannot be used."""

    def __init__(self, *, group: str, name: str, package: str, problem: str) -> None:
        cause = " ".join(problem.split()).rstrip(".")[:400]
        super().__init__(
            f"The entry point {name} of {group} cannot be used ({cause}): upgrade or uninstall the package {package}."
        )


class UnknownRunError(DreamError, InvalidInputError):
    """A run id names no run of the scope, or more than one."""

    def __init__(self, *, value: str, matches: Sequence[str] = ()) -> None:
        what = "none in this scope: `dream runs` lists them"
        if len(matches) > 1:
            more = " and more" if len(matches) > MOST_NAMED else ""
            what = f"several ({', '.join(one[:12] for one in matches[:MOST_NAMED])}{more}): give more characters"
        super().__init__(f"The run id {value[:80]!r} fits {what}.")


class UnknownSessionError(DreamError, InvalidInputError):
    """A key names no dream session of the scope, or more than one."""

    def __init__(self, *, value: str, matches: int = 0) -> None:
        what = "several: give more characters, or the run's id"
        if matches < 2:
            what = "none in this scope: `dream sessions --prefix dream:` lists them"
        super().__init__(f"The dream session {value[:120]!r} fits {what}.")


class UnknownPlanError(DreamError, InvalidInputError):
    """A plan id names no plan of the scope, or one that was applied."""

    def __init__(self, *, value: str, applied_as: str | None = None) -> None:
        what = f"There is no plan {value[:80]!r} in this scope"
        if applied_as is not None:
            what = f"The plan {value[:80]!r} was applied already, as run {applied_as}"
        super().__init__(f"{what}: make {'one' if applied_as is None else 'a new one'} with `dream plan`.")


class OutdatedPlanError(DreamError, InvalidInputError):
    """A plan was made by an earlier version, or with a pass that is gone."""

    def __init__(self, *, value: str) -> None:
        super().__init__(
            f"The plan {value[:8]} was made by an earlier version, or with a pass that is gone: make a new one with "
            "`dream plan`."
        )


class UnknownChangeError(DreamError, InvalidInputError):
    """A change number stands in no journal of the run."""

    def __init__(self, *, run_id: str, number: int) -> None:
        super().__init__(f"Run {run_id} has no change {number}: `dream diff {run_id}` numbers them.")


class UnknownProposalError(DreamError, InvalidInputError):
    """A proposal was named that does not wait in the scope, or more than one."""

    def __init__(self, *, value: str, matches: int = 0, decided: str | None = None) -> None:
        what = "several: give more characters" if matches > 1 else "none that waits: `dream review list` shows them"
        if decided is not None:
            what = f"one that waits no longer: {decided}. `dream review list` shows those that wait"
        super().__init__(f"The proposal id {value[:80]!r} fits {what}.")


class UnknownQuestionError(DreamError, InvalidInputError):
    """A question was named that does not exist in the scope, or more than one."""

    def __init__(self, *, value: str, matches: int = 0) -> None:
        what = "several: give more characters" if matches > 1 else "none: `dream questions` shows them"
        super().__init__(f"The question id {value[:80]!r} fits {what}.")


class LostSourceError(DreamError, InvalidInputError):
    """A hypothesis was to be kept or promoted that rests on something which is no longer what it was."""

    def __init__(self, *, hypothesis_id: str, why: str) -> None:
        super().__init__(f"Hypothesis {hypothesis_id} cannot be kept: {why}; reject it or set it aside.")


class AnsweredQuestionError(DreamError, InvalidInputError):
    """A question was answered that somebody had answered before."""

    def __init__(self, *, question_id: str, state: str, by: str) -> None:
        super().__init__(
            f"Question {question_id} is {state} by {by} already: `dream undo` of that run opens it again.",
        )


class UnknownMemberError(DreamError, InvalidInputError):
    """A question was answered with an entry that is none of its own."""

    def __init__(self, *, value: str, members: Iterable[str]) -> None:
        super().__init__(f"{value[:80]!r} is not one of its entries: choose among {', '.join(members)}.")


class NothingToRestoreError(DreamError, InvalidInputError):
    """An entry was to be restored that is active."""

    def __init__(self, *, entry_id: str) -> None:
        super().__init__(f"The entry {entry_id} is active already: there is nothing to restore.")


class UnknownDirectiveError(DreamError, InvalidInputError):
    """A directive was named that does not exist."""

    def __init__(self, *, name: str, known: Iterable[str]) -> None:
        super().__init__(f"There is no directive {name[:80]!r}: choose among {', '.join(known)}.")


class InvalidDirectiveError(DreamError, InvalidInputError):
    """A host's own text of a directive cannot be used; the passes that send it do nothing."""

    def __init__(self, *, path: str, problem: str) -> None:
        super().__init__(f"The directive {path} cannot be used: {problem}; put it right, or take it away.")
        self.problem = problem


class InvalidVocabularyError(DreamError, InvalidInputError):
    """A vocabulary file cannot be taken; the built-in one is used."""

    def __init__(self, *, path: str, problem: str) -> None:
        super().__init__(f"The vocabulary {path} is not used, the built-in one is: {problem}; correct or remove it.")


class InvalidFileError(DreamError, InvalidInputError):
    """A file cannot be imported; nothing of it was written."""

    def __init__(self, *, path: str, problem: str, remedy: str | None = None, line: int | None = None) -> None:
        where = path if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: {problem}{f'; {remedy}' if remedy else ''}.")


class UnreadableFileError(InvalidFileError):
    """A file is missing, is a folder, or may not be read."""


class UnknownSampleError(InvalidFileError):
    """A sample was asked for that the file does not hold."""

    def __init__(self, *, path: str, sample: str, known: Iterable[str]) -> None:
        remedy = f"choose among {', '.join(known) or 'none'}"
        super().__init__(path=path, problem=f"it holds no sample {sample[:80]!r}", remedy=remedy)


class StaleRecordingError(DreamError):
    """A recording does not fit what is asked: an answer is missing, or one is there for which nothing asks."""

    _MOST_NAMED = 5

    def __init__(self, *, path: str, problems: Sequence[str]) -> None:
        over = len(problems) - self._MOST_NAMED
        named = "; ".join(problems[: self._MOST_NAMED]) + (f"; and {over} more" if over > 0 else "")
        super().__init__(
            f"The recording {path} is stale: {named}. Record what is missing with --record, which keeps the rest."
        )


class UnwritableFileError(DreamError):
    """A file could not be written; what stood there before is untouched."""

    def __init__(self, *, path: str, problem: str) -> None:
        super().__init__(f"The file {path} cannot be written ({problem}): choose another place or free some space.")


class NotAdmittedError(DreamError):
    """A run may not begin now; whoever asked for it gets a deferred report."""

    def __init__(self, *, reason: str) -> None:
        super().__init__(f"The run does not begin ({reason}): `dream explain` tells what it waits for.")
        self.reason = reason
