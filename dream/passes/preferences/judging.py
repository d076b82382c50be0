"""Judges the preferences of an answer: which occasions show each one, and whether they are enough."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar, Final

import regex

from agentcore.domain.conversation import Turn
from agentcore.domain.evidence import SourceKind, SourceRef
from agentcore.domain.memory import Level, MemoryEntry, Trust
from agentcore.domain.signals import Feedback, FeedbackKind
from agentcore.domain.temporal import marks_of
from agentcore.domain.text import clean_tags, normalise
from dream.domain.built_in_passes import PREFERENCE_INFERENCE
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.verification import EvidenceLine
from dream.guards.patterns import lazy_pattern
from dream.options import PreferenceOptions
from dream.passes.conversation.evidence import TurnEvidence, beside_of, cited_turns
from dream.passes.conversation.quotes import holds_quote, on_one_line
from dream.passes.conversation.statement import (
    StatementRules,
    TurnStatement,
    base_below,
    protected,
    secret_told,
    shortened,
    statement,
    usable_tags,
)
from dream.passes.preferences.prompt import PreferenceItem, Sentiment
from dream.passes.prompts import PromptTurn, feedback_text

_OF_PEOPLE: Final = frozenset({FeedbackKind.CORRECTION, FeedbackKind.THUMBS_UP, FeedbackKind.THUMBS_DOWN})
"""Feedback that people gave; summaries, failures and retries are a machine's word."""


@dataclass(frozen=True, slots=True)
class Occasions(TurnEvidence):
    """What a preference rests on; `quoted` is the newest turn of a user where the quote stands in feedback.

    Args:
        feedback: What people signalled, in the order in which it is cited.
    """

    feedback: tuple[Feedback, ...] = ()

    @property
    def count(self) -> int:
        """Distinct occasions: a signal that only repeats a cited turn of its session is none of its own."""
        return len(self.heard) + sum(not _echoes(one, self.heard) for one in self.feedback)

    @property
    def sources(self) -> tuple[SourceRef, ...]:
        """References to its turns and feedback, sorted."""
        return tuple(sorted((*TurnEvidence.sources.__get__(self), *map(_source, self.feedback))))

    @property
    def trust(self) -> Trust:
        """The least trust of its turns, and never more than an inference deserves."""
        return min([Trust.INFERRED, *(turn.trust for turn in self.turns)])

    def lines(self) -> tuple[EvidenceLine, ...]:
        """Return what a verifier reads of it: what was said, then what was signalled."""
        signalled = (
            EvidenceLine(text=feedback_text(one), role=one.kind, said_at=one.occurred_at, source=_source(one))
            for one in self.feedback
        )
        return (*TurnEvidence.lines(self), *signalled)

    def reason(self) -> str:
        """Return why the preference is inferred, in words for people."""
        times = "once" if self.count == 1 else f"{self.count} times"
        return f'inferred from what was shown {times}, such as "{shortened(self.quote)}"'


def _source(signal: Feedback) -> SourceRef:
    return SourceRef(SourceKind.FEEDBACK, signal.id)


@dataclass(frozen=True, slots=True)
class _OfTurns:
    """The part of a claim that is about turns."""

    label: str
    handles: tuple[str, ...]
    quote: str
    content: str = ""


def occasions_of(
    item: PreferenceItem,
    shown: Mapping[str, PromptTurn],
    feedback: Mapping[str, Feedback],
    *,
    turn_handles: frozenset[str],
    feedback_handles: frozenset[str],
) -> Occasions | Refusal:
    """Return what a preference rests on, or why it must not.

    Args:
        item: The preference.
        shown: Turns of the prompt that are still as they were, by handle.
        feedback: Feedback of the prompt that is still there, by handle.
        turn_handles: All handles of turns in the prompt.
        feedback_handles: All handles of feedback in the prompt.
    """
    of_feedback = [handle for handle in item.handles if handle in feedback_handles]
    claim = _OfTurns(item.label, tuple(one for one in item.handles if one not in feedback_handles), item.quote)
    valid = cited_turns(claim, shown, turn_handles)
    if isinstance(valid, Refusal):
        return valid
    if any(handle not in feedback for handle in of_feedback):
        return Refusal(Refused.STALE_SOURCE, f"{item.label} cites feedback that is gone")
    signals = tuple(feedback[handle] for handle in of_feedback if feedback[handle].kind in _OF_PEOPLE)
    quoted = _quoted(item.quote, valid, signals)
    if quoted is None:
        return Refusal(Refused.QUOTE_NOT_FOUND, f"{item.label} has a quote that none of the people it cites said")
    turns = tuple(one.turn for one in valid)
    return Occasions(turns, quoted, on_one_line(item.quote), beside_of(valid, shown), feedback=signals)


def too_few(item: PreferenceItem, occasions: Occasions, terms: PreferenceOptions) -> Refusal | None:
    """Return a refusal if a preference was not shown often enough for how strongly it was voiced."""
    least = {
        Sentiment.IRRITATED: terms.when_irritated,
        Sentiment.FRUSTRATED: terms.when_frustrated,
        Sentiment.CASUAL: terms.when_casual,
    }[item.sentiment]
    if occasions.count >= least:
        return None
    problem = f"{item.label} ({item.sentiment}) cites {occasions.count} of the {least} occasions it takes"
    return Refusal(Refused.TOO_FEW_CITATIONS, problem)


def _quoted(quote: str, valid: Sequence[PromptTurn], signals: Sequence[Feedback]) -> Turn | None:
    """Return the turn of a person that holds the quote; the newest one if only feedback does."""
    heard = [one.turn for one in valid if one.turn.role == "user"]
    holder = next((turn for turn in heard if holds_quote(turn.content, quote)), None)
    if holder is None and any(holds_quote(feedback_text(one), quote) for one in signals):
        return heard[-1]
    return holder


def _echoes(signal: Feedback, heard: Sequence[Turn]) -> bool:
    """Tell whether a signal says what a turn of its session says: a correction detector makes one of the other."""
    text = normalise(feedback_text(signal))
    said = [normalise(turn.content) for turn in heard if turn.session_id == signal.session_id]
    return any(one in text or text in one for one in said)


# A tilde stands for a space.
_STEMS: Final = r"""
    passw(?:or|ör)[dt] passcode passphrase kennwort mot~de~passe contraseña contrasena clave~de~acceso senha
    wachtwoord hasło пароль パスワード 密码 密碼 비밀번호
    credential zugangsdat identifiant credencial credenziali anmeldedat
    login log[~-]in sign[~-]in anmeldung inicio~de~sesi
    token api[~-]?key schlüssel chiffr encrypt verschlüssel cifrad criptograf
    secur sicherheit sécurit securit segurid seguran beveilig безопасн 安全 セキュリティ 보안
    privacy datenschutz confidential vertraulich confidencial
    firewall vpn 2fa mfa two[~-]factor zwei[~-]?faktor authenti autenti permission berechtigung autoriz
    money geld argent dinero dinheiro denaro деньг 钱 お金 돈
    pay(?:ing|ment|s|\b|ee|out|roll|pal) paid bezahl zahl(?:ung|en|t\b) paie paye pagar pago\b pagos\b pagament
    bank(?:\b|ing|s\b|konto) banque banco\b banca\b
    credit~card kreditkart carte~bancaire tarjeta cartão cartao iban\b
    invoice rechnung factur fatura fattur budget haushaltsgeld presupuesto orçamento orcamento
    financ finanz invest stocks?\b aktie bolsa bourse crypto krypto cripto bitcoin wallet
    purchas buy(?:ing|s|\b) bought kauf(?:en|t|\b) achat acheter compr(?:a|ar|as|e)\b
    transfer(?:s|red|ring)?~money überweis virement transferencia transferência transferencia
    price preis(?:e|\b) prix\b precio preço cost(?:s|\b) kosten
    salary gehalt salaire salario salário tax(?:es|\b) steuer impôt impuesto imposto mortgage hypothek loan\b kredit
    euros?\b dollars?\b
"""
_TOUCHY: Final = lazy_pattern(
    rf"(?<![\p{{Latin}}\p{{Cyrillic}}])(?:{'|'.join(_STEMS.split()).replace('~', ' ')})|[€$£¥₹₩]", regex.IGNORECASE
)


def needs_permission(*texts: str) -> bool:
    """Tell whether a text is about security, credentials or money, in any of several languages.

    It errs on the safe side: an assistant that asks once too often does no harm.

    Example:
        >>> needs_permission("Ana wants her Passwörter in a vault."), needs_permission("Ana wants short answers.")
        (True, False)
    """
    return any(_TOUCHY.search(text) is not None for text in texts)


PREFERENCES: Final = "user-preferences"
"""The category of what users want, inferred or stated."""
INFERRED: Final = PREFERENCE_INFERENCE.categories[0]
"""The category of inferred preferences."""
TAG: Final = "inferred"
PERMISSION: Final = "requires_user_permission"
"""Metadata: the assistant must ask before it acts on the preference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference(TurnStatement):
    """A checked preference.

    Args:
        asks_permission: Whether the assistant must ask before it acts on it.
        old_id: The preference that it contradicts, if it contradicts one.
        old: That one as it was shown, whose mark stays, and whose importance and trust are not exceeded; None if it
            moved or is gone.
    """

    level: ClassVar[Level] = Level.DERIVED

    evidence: Occasions
    asks_permission: bool
    old_id: str | None = None
    old: MemoryEntry | None = None

    def reason(self) -> str:
        """Return why it is inferred, in words for people."""
        return self.evidence.reason()

    def entry(self, entry_id: str, as_of: datetime) -> MemoryEntry:
        """Return the entry it makes: one observation, however many occasions show it.

        Args:
            entry_id: Its id.
            as_of: The instant the run judges by.
        """
        old = self.old
        made = TurnStatement.entry(self, entry_id, as_of)
        is_marked = self.asks_permission or (old is not None and PERMISSION in marks_of(old))
        return replace(
            made,
            base=made.base if old is None else min(made.base, old.base),
            importance=-1.0,
            metadata={"source": TAG, **({PERMISSION: "true"} if is_marked else {})},
            trust=made.trust if old is None else min(made.trust, old.trust),
        )


def preference_of(
    item: PreferenceItem, occasions: Occasions, terms: StatementRules, options: PreferenceOptions
) -> Preference | Refusal:
    """Return a preference as far as it may be kept whatever its sources say of it, or why it must not be."""
    content = statement(item.content, item.label)
    if isinstance(content, Refusal):
        return content
    refusal = (
        secret_told(item.label, f"turn {occasions.quoted.id}", content, occasions.quote)
        or protected(item.label, INFERRED, terms)
        or too_few(item, occasions, options)
    )
    if refusal is not None:
        return refusal
    tags = usable_tags(item.tags)
    return Preference(
        number=item.number,
        label=item.label,
        content=content,
        category=INFERRED,
        tags=clean_tags((*tags, TAG)),
        base=base_below(item.importance, terms.protect_importance),
        evidence=occasions,
        asks_permission=item.asks_permission or needs_permission(content, occasions.quote, *tags),
    )
