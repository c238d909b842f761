"""One agent writes an answer, another checks it."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db import models, transaction

from engine.audit import sealing
from engine.councils import with_council_id
from engine.ledger.immutability import Immutable
from engine.llm.providers import provider_lane
from engine.models import Document, ModelCall, NewDocument, Run, requester_name
from engine.models.child_runs import NO_OTHER_OWNER
from engine.text.search_terms import index_words, label_term
from runs.models import SearchText, initial_labels
from runs.row_queries import with_run

from . import rules


class CheckQuerySet(models.QuerySet["Check"]):
    def whole(self) -> "CheckQuerySet":
        return with_run(self).select_related("draft__call", "report__call", "summary__call")

    @transaction.atomic
    def submit(
        self,
        *,
        owner: Any,
        question: str,
        writer: str,
        checker: str,
        policy: Mapping[str, Any] | None = None,
        documents: Iterable[NewDocument] = (),
        request: str = "",
        made_by: Mapping[str, Any] = NO_OTHER_OWNER,
    ) -> "Check":
        asked = requester_name(owner, made_by) | {"request": request}
        lane = provider_lane([writer, checker])
        run = Run.objects.create(procedure="check", title=question[:80], lane=lane, **asked)
        meant = with_council_id(policy) if policy else None
        check = self.create(run=run, question=question, writer=writer, checker=checker, policy=meant)
        Document.objects.attach(run, documents)
        SearchText.objects.create(run=run, words=" ".join([*initial_labels(run), *index_words(question)]))
        sealing.record_submission(run.pk)
        return check


class Check(models.Model):
    run = models.OneToOneField(Run, on_delete=models.PROTECT, primary_key=True, related_name="checked")
    question = models.TextField()
    writer = models.CharField(max_length=200)
    checker = models.CharField(max_length=200)
    policy = models.JSONField(null=True)
    immutable = Immutable(erased="question", free="policy", run="run")

    objects = CheckQuerySet.as_manager()

    def __str__(self) -> str:
        return self.run.shown_title

    @property
    def title(self) -> str:
        return self.run.shown_title

    def part(self, name: str) -> Any:
        return getattr(self, name, None)

    def keep_draft(self, call: ModelCall, text: str) -> None:
        Draft.objects.create(subject=self, text=text, call=call)
        SearchText.objects.add(self.pk, index_words(text))

    def keep_report(self, call: ModelCall, finding: rules.CheckFinding) -> None:
        Report.objects.create(subject=self, finding=finding, call=call)

    def keep_summary(self, call: ModelCall, text: str) -> None:
        Summary.objects.create(subject=self, text=text, call=call)

    def conclude(self, outcome: rules.CheckingOutcome) -> None:
        Run.objects.filter(pk=self.pk).update(outcome=outcome)
        SearchText.objects.add(self.pk, [label_term("outcome", outcome)])


class Part(models.Model):
    """What a model call gave; it was made with the end of that call."""

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} of {self.subject}"

    @property
    def made(self) -> Any:
        return self.call.ended


class Draft(Part):
    subject = models.OneToOneField(Check, on_delete=models.PROTECT, related_name="draft")
    text = models.TextField()
    call = models.OneToOneField(ModelCall, on_delete=models.PROTECT, related_name="+")
    immutable = Immutable(erased="text", run="subject")


class Report(Part):
    subject = models.OneToOneField(Check, on_delete=models.PROTECT, related_name="report")
    finding = models.CharField(max_length=10)
    call = models.OneToOneField(ModelCall, on_delete=models.PROTECT, related_name="+")
    immutable = Immutable()


class Summary(Part):
    subject = models.OneToOneField(Check, on_delete=models.PROTECT, related_name="summary")
    text = models.TextField()
    call = models.OneToOneField(ModelCall, on_delete=models.PROTECT, related_name="+")
    immutable = Immutable(erased="text", run="subject")
