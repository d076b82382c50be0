"""Asking the model: an answer is stored the moment it is there, and found again by the run that resumes."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import orjson

from agentcore.domain.scope import Scope
from agentcore.hosting.parts import HostParts
from agentcore.llm.chat import ChatRequest, Completion
from dream.errors import NoModelError
from dream.stores import bookkeeping
from dream.stores.answers import CallKey


@dataclass(slots=True)
class Answers:
    """The model's answers for one pass of one run; lives as long as that pass runs.

    Args:
        parts: What the host offers.
        scope: Whose memory.
        run_id: The run.
        pass_name: The pass.
    """

    parts: HostParts
    scope: Scope
    run_id: str
    pass_name: str
    _usage: dict[str, int] = field(default_factory=dict[str, int])
    _attempts: dict[str, int] = field(default_factory=dict[str, int])

    async def ask(self, request: ChatRequest, record_ids: Sequence[str]) -> Completion:
        """Return the answer to *request*: the stored one if this run paid for it before.

        Raises:
            NoModelError: the host has no model.
        """
        plain = asdict(request)
        batch_key = hashlib.blake2b(orjson.dumps(plain, option=orjson.OPT_SORT_KEYS), digest_size=16).hexdigest()
        attempt = self._attempts[batch_key] = self._attempts.get(batch_key, 0) + 1
        key = CallKey(run_id=self.run_id, pass_name=self.pass_name, batch_key=batch_key, attempt=attempt)
        stored = await self.parts.storage.read(self.scope, lambda view: bookkeeping(view).answers.find(key))
        if stored is not None:
            return stored
        if self.parts.chat is None:
            raise NoModelError(pass_name=self.pass_name)
        self._count("calls", 1)
        answer = await self.parts.chat.complete(request)
        self._count("input_tokens", answer.usage.input_tokens)
        self._count("output_tokens", answer.usage.output_tokens)
        await self.parts.storage.write(
            self.scope,
            lambda unit: bookkeeping(unit).answers.save(key, request=plain, completion=answer, record_ids=record_ids),
        )
        return answer

    def take_usage(self) -> dict[str, int]:
        """Return calls and tokens since the last time, and start again."""
        usage, self._usage = self._usage, {}
        return usage

    def _count(self, name: str, amount: int) -> None:
        self._usage[name] = self._usage.get(name, 0) + amount
