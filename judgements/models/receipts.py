"""Receipts: signed statements that a content was approved, so that what is carried out is what was judged.

A receipt is one object of canonical JSON, signed with the key of this installation. Whoever has the key's public half
can check it without us: that it is ours, what content it is for, that it has not expired. That it is used only once
either the consumer keeps account of, or we do, by `consume`.
"""

import base64
import binascii
from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.utils import timezone

from engine import signing
from engine.chain import Draft, canonical
from engine.evidence import Entry, Leaf, stamp
from engine.models import name_of

from ..rules import Verdict
from .judgements import Judgement

FORM = "magi-receipt/1"
AUDIENCE_LENGTH = 200
USUAL_LIFETIME = 3600
LONGEST_LIFETIME = 30 * 86_400
SIGNED = (
    *("form", "id", "log", "judgement", "verdict", "council", "audience", "content_sha256", "rehearsal"),
    *("record_hash", "issued", "expires"),
)

Statement = dict[str, Any]
"""A receipt as it is handed out: the fields of SIGNED, and their signature."""


class ReceiptRefused(Exception):
    """No receipt, or none that counts. `code` for software, the text is a sentence for people."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class ReceiptQuerySet(models.QuerySet["Receipt"]):
    @transaction.atomic
    def issue(self, judgement: Judgement, by: Any, audience: str = "", lifetime: int = USUAL_LIFETIME) -> Statement:
        """A receipt for an approved judgement, good for `lifetime` seconds; `audience`: who alone may act on it.

        ReceiptRefused where there is no approval, or no longer one.
        """
        Leaf.objects.lock()
        judgement = Judgement.objects.select_related("run", "council_version").get(pk=judgement.pk)
        _refuse_without_approval(judgement)
        now = timezone.now()
        receipt = Receipt(judgement=judgement, audience=audience, by=name_of(by), issued=now)
        receipt.expires = now + timedelta(seconds=lifetime)
        head = Entry.objects.append(judgement.pk, [receipt.issue_draft()])
        Leaf.objects.add(head)
        receipt.issue_entry = head.seq
        receipt.save(force_insert=True)
        return _signed(receipt, head.hash)

    @transaction.atomic
    def consume(self, statement: Mapping[str, Any], by: Any, audience: str = "") -> "Receipt":
        """Use a receipt up: this once, and never again. ReceiptRefused where it does not count."""
        _refuse_unsigned(statement)
        Leaf.objects.lock()
        receipt = self._kept(statement)
        _refuse_used_up(receipt, audience)
        _refuse_without_approval(receipt.judgement)
        receipt.consumed, receipt.consumed_by = timezone.now(), name_of(by)
        head = Entry.objects.append(receipt.judgement_id, [receipt.use_draft()])
        Leaf.objects.add(head)
        receipt.use_entry = head.seq
        receipt.save(update_fields=["consumed", "consumed_by", "use_entry"])
        return receipt

    def _kept(self, statement: Mapping[str, Any]) -> "Receipt":
        try:
            return self.select_related("judgement__run").get(pk=UUID(str(statement["id"])))
        except (ValueError, ValidationError, Receipt.DoesNotExist) as error:
            raise ReceiptRefused("unknown", "This receipt is not in our books.") from error


class Receipt(models.Model):
    """That a receipt was handed out, to whom, and whether it was used.

    `by`, `consumed_by`: names of users then; `issue_entry`, `use_entry`: the places of the entries that tell of it.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    judgement = models.ForeignKey(Judgement, on_delete=models.PROTECT, related_name="receipts")
    audience = models.CharField(max_length=AUDIENCE_LENGTH, blank=True)
    by = models.CharField(max_length=150)
    issued = models.DateTimeField()
    expires = models.DateTimeField()
    consumed = models.DateTimeField(null=True)
    consumed_by = models.CharField(max_length=150, blank=True)
    issue_entry = models.PositiveIntegerField()
    use_entry = models.PositiveIntegerField(null=True)

    objects = ReceiptQuerySet.as_manager()

    class Meta:
        ordering = ["issued", "pk"]

    def __str__(self) -> str:
        return f"receipt {self.pk}"

    def issue_draft(self) -> Draft:
        facts = {"id": str(self.pk), "audience": self.audience or None, "by": self.by, "expires": stamp(self.expires)}
        return Draft("receipt", stamp(self.issued) or "", facts)

    def use_draft(self) -> Draft:
        return Draft("consumed", stamp(self.consumed) or "", {"id": str(self.pk), "by": self.consumed_by})


def _signed(receipt: Receipt, record_hash: str) -> Statement:
    judgement = receipt.judgement
    version = judgement.council_version
    statement = {
        "form": FORM,
        "id": str(receipt.pk),
        "log": signing.name(),
        "judgement": str(judgement.pk),
        "verdict": judgement.verdict,
        "council": version.name if version else None,
        "audience": receipt.audience or None,
        "content_sha256": sha256(judgement.content.encode()).hexdigest(),
        "rehearsal": judgement.rehearsal,
        "record_hash": record_hash,
        "issued": stamp(receipt.issued),
        "expires": stamp(receipt.expires),
    }
    signature = signing.sign(canonical(statement).encode())
    return statement | {"signature": base64.b64encode(signature).decode()}


# ---- why not ----------------------------------------------------------------------------------------------


def _refuse_without_approval(judgement: Judgement) -> None:
    if judgement.redacted:
        raise ReceiptRefused("redacted", "The judgement was redacted; what it approved is no longer known.")
    if judgement.status != Verdict.APPROVED:
        raise ReceiptRefused("not_approved", f"The judgement is not approved; it is: {judgement.status}.")
    last = judgement.override
    if last and last.verdict != Verdict.APPROVED:
        raise ReceiptRefused("overridden", f"{last.by} has decided against the agents' approval.")


def _refuse_unsigned(statement: Mapping[str, Any]) -> None:
    if set(statement) != {*SIGNED, "signature"} or statement["form"] != FORM:
        raise ReceiptRefused("invalid", "This is not a receipt of the form magi-receipt/1.")
    try:
        signature = base64.b64decode(str(statement["signature"]), validate=True)
        signed = canonical({name: statement[name] for name in SIGNED}).encode()
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


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
