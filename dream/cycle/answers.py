"""Asking the model: an answer is stored the moment it is there, and found again by the run that resumes."""

import hashlib
from collections.abc import Mapping, Sequence
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
    """The model's answers for one step of a pass; lives as long as that step.

    What an answer cost is counted where it is used: once per run, whichever process paid for it.

    Args:
        parts: What the host offers.
        scope: Whose memory.
        run_id: The run.
        pass_name: The pass.
        step: The step's number.
        usage: Calls and tokens so far.
    """

    parts: HostParts
    scope: Scope
    run_id: str
    pass_name: str
    step: int
    usage: dict[str, int] = field(default_factory=dict[str, int])
    _attempts: dict[str, int] = field(default_factory=dict[str, int])

    async def ask(self, request: ChatRequest, record_ids: Sequence[str]) -> Completion:
        """Return the answer to *request*: the stored one if this run paid for it before.

        Raises:
            NoModelError: the host has no model.
        """
        plain = asdict(request)
        key = self._key(plain)
        answer = await self.parts.storage.read(self.scope, lambda view: bookkeeping(view).answers.find(key))
        if answer is None:
            answer = await self._bought(request)
            await self.parts.storage.write(
                self.scope,
                lambda unit: bookkeeping(unit).answers.save(
                    key, request=plain, completion=answer, record_ids=record_ids
                ),
            )
        else:
            self._count("calls", 1)
        self._count("input_tokens", answer.usage.input_tokens)
        self._count("output_tokens", answer.usage.output_tokens)
        return answer

    def _key(self, plain: Mapping[str, object]) -> CallKey:
        asked = orjson.dumps([self.step, plain], option=orjson.OPT_SORT_KEYS)
        batch_key = hashlib.blake2b(asked, digest_size=16).hexdigest()
        attempt = self._attempts[batch_key] = self._attempts.get(batch_key, 0) + 1
        return CallKey(run_id=self.run_id, pass_name=self.pass_name, batch_key=batch_key, attempt=attempt)

    async def _bought(self, request: ChatRequest) -> Completion:
        if self.parts.chat is None:
            raise NoModelError(pass_name=self.pass_name)
        self._count("calls", 1)
        return await self.parts.chat.complete(request)

    def _count(self, name: str, amount: int) -> None:
        self.usage[name] = self.usage.get(name, 0) + amount
