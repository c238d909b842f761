"""Receipts: signed proofs that a content was approved, so that a consumer carries out exactly what was judged.

A receipt is one object of canonical JSON, signed with the key of this installation. Anyone who has the public key can
check offline that this installation signed it, which content it covers and that it has not expired. Only a stateful
check can ensure single use: the consumer keeps track, or calls `consume` here.

Why so: engine/DESIGN.md, The record.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.utils import timezone

from engine.audit import sealing
from engine.ledger import signing
from engine.ledger.hashing import EntryDraft, canonical, format_timestamp
from engine.ledger.immutability import ChangeRule, Immutable
from engine.ledger.merkle_log import LogLeaf
from engine.llm.providers import is_rehearsal
from engine.models import record_name
from runs.presets import NAME_LENGTH

from ..rules import Verdict
from .judgements import Judgement, RoundDecision
from .presets import CouncilVersion

RECEIPT_FORMAT = "magi-receipt/2"
AUDIENCE_LENGTH = 200
DEFAULT_LIFETIME = 3600
MAX_LIFETIME = 30 * 86_400
_OLDER = (
    *("form", "id", "log", "judgement", "verdict", "council", "audience", "content_sha256", "rehearsal"),
    *("record_hash", "issued", "expires"),
)
SIGNED_FIELDS = {"magi-receipt/1": _OLDER, RECEIPT_FORMAT: (*_OLDER, "agents_sha256")}
"""Signed fields by format. Receipts of the older format are no longer issued; existing ones are valid until they
expire."""
AGENT = ("seat", "name", "model", "fallback", "criteria")

ReceiptStatement = dict[str, Any]
"""A receipt as issued: the fields of SIGNED_FIELDS and their signature."""


@dataclass(frozen=True)
class ExpectedReceipt:
    """What the consumer requires of a receipt's judgement.

    `council`: the council's id or name; None accepts any judgement, also one by the requester's own agents.
    `version`: the required version of the council. `rehearsal`: accept a rehearsal too.
    """

    council: int | str | None
    version: int | None = None
    rehearsal: bool = False


class ReceiptRefused(Exception):
    """A receipt cannot be issued or is not valid. `code` is for software; the message is a sentence for people."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class ReceiptQuerySet(models.QuerySet["Receipt"]):
    @transaction.atomic
    def issue(
        self, judgement: Judgement, by: Any, audience: str = "", lifetime: int = DEFAULT_LIFETIME
    ) -> ReceiptStatement:
        """Issue a receipt for an approved judgement, valid for `lifetime` seconds. `audience`: the only one who may
        use it.

        Writes the receipt and its audit log entry in one transaction. Raises ReceiptRefused if the judgement is not
        approved, or no longer so.
        """
        LogLeaf.objects.lock()
        judgement = Judgement.objects.select_related("run", "council_version").get(pk=judgement.pk)
        _refuse_without_approval(judgement)
        now = timezone.now()
        receipt = Receipt(judgement=judgement, audience=audience, by=record_name(by), issued=now)
        receipt.expires = now + timedelta(seconds=lifetime)
        receipt.agents_sha256, receipt.rehearsal = agents_sha256(judgement), _rehearsed(judgement)
        head = sealing.append_entries(judgement.pk, [receipt.issue_draft()])
        LogLeaf.objects.add(head)
        receipt.issue_entry = head.seq
        receipt.save(force_insert=True)
        return _signed(receipt, head.hash)

    @transaction.atomic
    def consume(
        self,
        statement: Mapping[str, Any],
        by: Any,
        expected: ExpectedReceipt,
        audience: str = "",
        *,
        first: bool = False,
    ) -> "Receipt":
        """Mark a receipt as used, which works once, and write the audit log entry. Raises ReceiptRefused if it is
        not valid. `first`: also raise if another receipt of the same judgement was used."""
        _refuse_unsigned(statement)
        LogLeaf.objects.lock()
        receipt = self._kept(statement)
        _refuse_used_up(receipt, audience)
        if first and self.filter(judgement=receipt.judgement_id).exclude(consumed=None).exists():
            raise ReceiptRefused("used", "Another receipt for this judgement was used already.")
        _refuse_without_approval(receipt.judgement)
        _refuse_unexpected(receipt.judgement, expected)
        receipt.consumed, receipt.consumed_by, receipt.expected = timezone.now(), record_name(by), asdict(expected)
        head = sealing.append_entries(receipt.judgement_id, [receipt.use_draft()])
        LogLeaf.objects.add(head)
        receipt.use_entry = head.seq
        receipt.save(update_fields=["consumed", "consumed_by", "expected", "use_entry"])
        return receipt

    def with_council(self) -> "ReceiptQuerySet":
        """Load what the audit log entries need, without the content."""
        return self.select_related("judgement__council_version").defer("judgement__content")

    def _kept(self, statement: Mapping[str, Any]) -> "Receipt":
        try:
            found = self.select_related("judgement__run", "judgement__council_version__council")
            return found.get(pk=UUID(str(statement["id"])))
        except (ValueError, ValidationError, Receipt.DoesNotExist) as error:
            raise ReceiptRefused("unknown", "This receipt is not in our books.") from error


class Receipt(models.Model):
    """A receipt that was issued, to whom, and whether it was used.

    `by`, `consumed_by`: user names at that time. `issue_entry`, `use_entry`: numbers of the audit log entries.
    `expected`: the consumer's requirements. Receipts of the older format record neither these nor who judged.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    judgement = models.ForeignKey(Judgement, on_delete=models.PROTECT, related_name="receipts")
    audience = models.CharField(max_length=AUDIENCE_LENGTH, blank=True)
    agents_sha256 = models.CharField(max_length=64, blank=True)
    rehearsal = models.BooleanField(null=True)
    by = models.CharField(max_length=150)
    issued = models.DateTimeField()
    expires = models.DateTimeField()
    consumed = models.DateTimeField(null=True)
    consumed_by = models.CharField(max_length=150, blank=True)
    expected = models.JSONField(null=True)
    issue_entry = models.PositiveIntegerField()
    use_entry = models.PositiveIntegerField(null=True)

    objects = ReceiptQuerySet.as_manager()
    immutable = Immutable(
        rules=(ChangeRule("used", when="OLD.consumed IS NOT NULL", kept="consumed consumed_by expected use_entry"),)
    )

    class Meta:
        ordering = ["issued", "pk"]
        permissions = [("issue_receipt", "Can get receipts for everybody's judgements")]

    def __str__(self) -> str:
        return f"receipt {self.pk}"

    def issue_draft(self) -> EntryDraft:
        facts = {
            "id": str(self.pk),
            "audience": self.audience or None,
            "by": self.by,
            "expires": format_timestamp(self.expires),
        }
        return EntryDraft(
            "receipt", format_timestamp(self.issued) or "", facts | (self.judged_by if self.agents_sha256 else {})
        )

    def use_draft(self) -> EntryDraft:
        facts = {"id": str(self.pk), "by": self.consumed_by}
        expected = {"expected": self.expected} if self.expected is not None else {}
        return EntryDraft("consumed", format_timestamp(self.consumed) or "", facts | expected)

    @property
    def judged_by(self) -> dict[str, Any]:
        """Return the council that judged, the hash of its agents, and whether it was a rehearsal."""
        judgement, version = self.judgement, self.judgement.council_version
        council = {"id": version.council_id, "name": version.name, "version": version.number} if version else None
        return {
            "council": council,
            "agents_sha256": self.agents_sha256 or agents_sha256(judgement),
            "rehearsal": _rehearsed(judgement) if self.rehearsal is None else self.rehearsal,
        }


def agents_sha256(judgement: Judgement) -> str:
    """Return the SHA-256 in hex of the canonical JSON of the three agents, as the record shows them."""
    return sha256(canonical(list(judgement.agents.values(*AGENT))).encode()).hexdigest()


def _rehearsed(judgement: Judgement) -> bool:
    """Return whether any decision was made without a model, whatever models the agents name."""
    answered = RoundDecision.objects.filter(agent__judgement=judgement)
    return any(map(is_rehearsal, answered.values_list("call__model", flat=True)))


def _signed(receipt: Receipt, record_hash: str) -> ReceiptStatement:
    statement = {
        "form": RECEIPT_FORMAT,
        "id": str(receipt.pk),
        "log": signing.name(),
        "judgement": str(receipt.judgement_id),
        "verdict": receipt.judgement.run.outcome,
        "audience": receipt.audience or None,
        "content_sha256": sha256(receipt.judgement.content.encode()).hexdigest(),
        "record_hash": record_hash,
        "issued": format_timestamp(receipt.issued),
        "expires": format_timestamp(receipt.expires),
        **receipt.judged_by,
    }
    signature = signing.sign(canonical(statement).encode())
    return statement | {"signature": base64.b64encode(signature).decode()}


# ---- reasons for refusal ---------------------------------------------------------------------------------


def _refuse_without_approval(judgement: Judgement) -> None:
    if judgement.run.redacted:
        raise ReceiptRefused("redacted", "The judgement was redacted; what it approved is no longer known.")
    if judgement.status != Verdict.APPROVED:
        raise ReceiptRefused("not_approved", f"The judgement is not approved; it is: {judgement.status}.")
    last = judgement.override
    if last and last.outcome != Verdict.APPROVED:
        raise ReceiptRefused("overridden", f"{last.by} has decided against the agents' approval.")


def _refuse_unsigned(statement: Mapping[str, Any]) -> None:
    fields = SIGNED_FIELDS.get(str(statement.get("form")), ())
    if not fields or set(statement) != {*fields, "signature"}:
        raise ReceiptRefused("invalid", f"This is not a receipt of the form {RECEIPT_FORMAT}.")
    try:
        signature = base64.b64decode(str(statement["signature"]), validate=True)
        signed = canonical({name: statement[name] for name in fields}).encode()
    except (binascii.Error, ValueError, TypeError) as error:
        raise ReceiptRefused("invalid", "The receipt's signature cannot be read.") from error
    if not signing.signed_by_us(signed, signature):
        raise ReceiptRefused("invalid", "The receipt's signature is not ours, or something in it was changed.")


def _refuse_used_up(receipt: Receipt, audience: str) -> None:
    if receipt.audience and receipt.audience != audience:
        raise ReceiptRefused("audience", "The receipt is for somebody else. Say for whom you consume it.")
    if receipt.consumed:
        raise ReceiptRefused("used", f"The receipt was used already, on {_minute(receipt.consumed)}.")
    if receipt.expires <= timezone.now():
        raise ReceiptRefused("expired", f"The receipt expired on {_minute(receipt.expires)}.")


def _refuse_unexpected(judgement: Judgement, expected: ExpectedReceipt) -> None:
    version = judgement.council_version
    if expected.council is not None and version is None:
        raise ReceiptRefused("council", "Agents of the asker's own judged this, and no council.")
    if expected.council is not None and version and (sentence := _unexpected(version, expected)):
        raise ReceiptRefused("council", sentence)
    if not expected.rehearsal and _rehearsed(judgement):
        raise ReceiptRefused("rehearsal", "It was approved by a rehearsal: no model was asked.")


def _unexpected(version: CouncilVersion, expected: ExpectedReceipt) -> str:
    """Return the sentence that says how the council that judged differs from `expected`; empty if it does not.

    A name counts only if it is unambiguous: another council may have taken a name that was given up.
    """
    who = f"“{version.name}” (id {version.council_id})"
    if isinstance(expected.council, str):
        if version.name != expected.council:
            return f"The council {who} judged this, and not “{expected.council[:NAME_LENGTH]}”."
        if version.council.name != version.name:
            return f"The council {who} has another name now, “{version.council.name}”. Expect it by its id."
        if CouncilVersion.objects.filter(name=version.name).exclude(council=version.council_id).exists():
            return f"Another council has been called “{version.name}”, too. {who} judged this: expect it by its id."
    elif version.council_id != expected.council:
        return f"The council {who} judged this, and not the one with the id {expected.council}."
    if expected.version not in (None, version.number):
        return f"Version {version.number} of {who} judged this, and not version {expected.version}."
    return ""


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
