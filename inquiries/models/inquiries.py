"""Inquiries and their roles: submission, queries, and derived state."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

from django.db import models, transaction
from django.db.models import Prefetch, Sum

from engine.audit import sealing
from engine.councils import with_council_id
from engine.ledger.immutability import ChangeRule, Immutable
from engine.llm import pricing
from engine.llm.providers import is_rehearsal, provider_lane
from engine.models import Document, DocumentLimits, ModelCall, NewDocument, Run, after_deadlock, requester_name
from engine.models.budgets import Budget
from engine.models.child_runs import NO_OTHER_OWNER
from engine.text.search_terms import index_words, label_term
from runs.models import SearchText, initial_labels
from runs.row_queries import with_run

from .. import prompts
from ..rules.events import WORK_OF, InquiryStage
from ..rules.limits import QUESTION_LENGTHS, InquiryLimits
from ..rules.state import RETRIES, InquiryState, fold_events
from .assignments import Assignment, InquiryMove
from .presets import RosterVersion
from .sources import InquirySource, SourceKind

DOCUMENTS = DocumentLimits(number=200, size=10 * 2**20, characters=3_000_000)  # with those of collections
ATTACHED = DocumentLimits(number=20, size=10 * 2**20, characters=3_000_000)
TITLE_LENGTH = 80
ROLES = tuple(station for station in InquiryStage if station is not InquiryStage.INPUT)


class RoleKind(models.TextChoices):
    MODEL = "model"
    PERSON = "person"
    COUNCIL = "council"


class InquiryQuerySet(models.QuerySet["Inquiry"]):
    def with_assignments(self) -> "InquiryQuerySet":
        """Load inquiries with everything that their page shows."""
        calls = Prefetch("run__calls", ModelCall.objects.order_by("pk").defer("prompt", "answer"))
        moves = Prefetch("moves", InquiryMove.objects.with_calls())
        sources = Prefetch("sources", InquirySource.objects.listed())
        lists = ("orders", moves, "posts", sources, "claims__quotes__source__document", calls)
        return with_run(self).select_related("follows__run", "roster_version").prefetch_related(*lists)

    @after_deadlock
    @transaction.atomic
    def submit(
        self,
        *,
        owner: Any,
        question: str,
        models: Mapping[str, str],
        critics: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
        fallback: str = "",
        title: str = "",
        limits: InquiryLimits | None = None,
        retry_limit: int = RETRIES,
        documents: Iterable[NewDocument] = (),
        web: bool = False,
        hosts: Sequence[str] = (),
        collections: Sequence[str] = (),
        follows: "Inquiry | None" = None,
        roster: RosterVersion | None = None,
        spend: int | None = None,
        request: str = "",
        made_by: Mapping[str, Any] = NO_OTHER_OWNER,
    ) -> "Inquiry":
        """Queue an inquiry: write run, roles, documents, sources and submission entry in one transaction.

        `models`: by role; `fallback`: model if another fails. `critics`: columns of InquiryRole, for critics that are a
        person or a council. `web`: may use the web, restricted to `hosts` if there are any. `documents` include those
        of `collections` (names) and the sources of `follows`. `roster`: version that the roles are from. `spend`: limit
        in billionths of a US dollar. Raises BudgetExceeded.
        """
        held = [*(models[post] for post in ROLES), *([fallback] if fallback else [])]
        reserved = Budget.objects.reserve(owner, spend if spend is not None else _unknown(held))
        run = Run.objects.create(
            procedure="inquiry",
            title=title or title_of(question),
            lane=provider_lane(held),
            spend=spend,
            **requester_name(owner, made_by),
            request=request,
            **reserved,
        )
        inquiry = self.create(
            run=run,
            question=question,
            limits=vars(limits or InquiryLimits()),
            retry_limit=retry_limit,
            web=web,
            hosts=list(hosts),
            collections=list(collections),
            follows=follows,
            roster_version=roster,
            prompt_version=prompts.PROMPT_VERSION,
        )
        InquiryRole.objects.bulk_create(_role(inquiry, post, models[post], fallback, critics) for post in ROLES)
        InquirySource.objects.of_documents(inquiry, Document.objects.attach(run, documents))
        words = [*initial_labels(run), label_term("rehearsal", any(map(is_rehearsal, held)))]
        words += [label_term("roster", roster.roster_id)] if roster else []
        names = [roster.name if roster else "", *(critic.get("council", "") for critic in critics.values())]
        words += index_words("\n".join([run.title, question, *names]))
        SearchText.objects.create(run=run, words=" ".join(words))
        sealing.record_submission(run.pk)
        return inquiry


def _role(
    inquiry: "Inquiry", name: str, model: str, fallback: str, critics: Mapping[str, Mapping[str, Any]]
) -> "InquiryRole":
    """Return the row of a role. A model is not its own fallback."""
    other = fallback if fallback != model else ""
    return InquiryRole(
        inquiry=inquiry, name=name, model=model, fallback=other, **with_council_id(critics.get(name, {}))
    )


def _unknown(held: Sequence[str]) -> int | None:
    """Return the amount to reserve for an inquiry without a limit: 0, since each model call is charged to the budgets
    by itself; None if a model's price is unknown."""
    return None if any(pricing.cost(model, 1, 1) is None for model in held) else 0


def title_of(question: str) -> str:
    first = next((line.strip() for line in question.splitlines() if line.strip()), "")
    return first if len(first) <= TITLE_LENGTH else f"{first[: TITLE_LENGTH - 1].rstrip()}…"


class Inquiry(models.Model):
    """One question. Title, life cycle and outcome are in the run. The state is folded from the assignments and not
    stored; `answer`, `trace` and `why` are written once, at the end."""

    run = models.OneToOneField(Run, on_delete=models.PROTECT, primary_key=True, related_name="inquiry")
    question = models.TextField(max_length=QUESTION_LENGTHS[1])
    limits = models.JSONField()
    retry_limit = models.PositiveSmallIntegerField()
    web = models.BooleanField(default=False)
    hosts = models.JSONField(default=list)
    collections = models.JSONField(default=list)
    follows = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="followed_by")
    roster_version = models.ForeignKey(RosterVersion, on_delete=models.PROTECT, null=True, related_name="inquiries")
    prompt_version = models.CharField(max_length=20)
    answer = models.TextField(blank=True)
    trace = models.TextField(blank=True)
    why = models.TextField(blank=True)

    record_hash: str | None = None  # of the newest entry of an ended run, if read by `with_assignments()`

    objects = InquiryQuerySet.as_manager()
    immutable = Immutable(
        erased="question",
        rules=(  # each by itself, or what is left of an erased answer could be replaced; no question: it was erased
            ChangeRule("answer_said", when="OLD.answer <> '' OR OLD.question = ''", erased="answer"),
            ChangeRule("trace_said", when="OLD.trace <> '' OR OLD.question = ''", erased="trace"),
            ChangeRule("why_said", when="OLD.why <> '' OR OLD.question = ''", erased="why"),
        ),
        run="run",
    )

    class Meta:
        verbose_name_plural = "inquiries"
        default_permissions = ()

    def __str__(self) -> str:
        return self.run.shown_title

    @property
    def assignments_in_order(self) -> list[Assignment]:
        return sorted(self.orders.all(), key=lambda one: one.number)

    @cached_property
    def state(self) -> InquiryState:
        """State by the rules. Raises InquiryStateError if the assignments do not fit together."""
        return fold_events(
            self.question, self.retry_limit, [fact for one in self.assignments_in_order if (fact := one.event)]
        )

    @cached_property
    def calculations(self) -> dict[int, str]:
        """Texts of calculations by the number of their source. Read in one query, since they are short; texts of other
        sources are not loaded."""
        if all(one.kind != SourceKind.CALCULATION for one in self.sources.all()):
            return {}
        kept = InquirySource.objects.filter(inquiry=self.pk, kind=SourceKind.CALCULATION)
        return dict(kept.order_by("number").values_list("number", "read"))

    @property
    def run_limits(self) -> InquiryLimits:
        return InquiryLimits.of(self.limits)

    def role(self, station: str) -> "InquiryRole":
        return next(one for one in self.posts.all() if one.name == station)

    @property
    def rehearsal(self) -> bool:
        return any(is_rehearsal(post.model) for post in self.posts.all())

    @property
    def used_up(self) -> bool:
        """Whether the inquiry and the runs that it started have cost the limit."""
        if self.run.spend is None:
            return False
        calls = ModelCall.objects.filter(run__in=Run.objects.of_root(self.pk))
        return (calls.aggregate(cost=Sum("cost"))["cost"] or 0) >= self.run.spend


class InquiryRole(models.Model):
    """Who has a role in an inquiry: a model, a person or a council.

    `hours`: after these the model reviews instead of the person; null: it waits without limit. `council_id` identifies
    the council; in older rows it is null and only the name is known.
    """

    inquiry = models.ForeignKey(Inquiry, on_delete=models.PROTECT, related_name="posts")
    name = models.CharField(max_length=20)
    kind = models.CharField(max_length=10, choices=RoleKind, default=RoleKind.MODEL)
    model = models.CharField(max_length=200)
    fallback = models.CharField(max_length=200, blank=True)
    council = models.CharField(max_length=100, blank=True)
    council_id = models.PositiveBigIntegerField(null=True)
    hours = models.PositiveSmallIntegerField(null=True)
    immutable = Immutable()

    class Meta:
        db_table = "inquiries_post"
        ordering = ["pk"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("inquiry", "name", name="one_post_of_a_name")]

    def __str__(self) -> str:
        return self.name

    @property
    def holder(self) -> str:
        """Label of who has the role."""
        if self.kind == RoleKind.COUNCIL:
            return f"Council {self.council}"
        return "Person" if self.kind == RoleKind.PERSON else "Critic" if self.name in WORK_OF else "Model"

    @property
    def policy(self) -> dict[str, Any]:
        """Policy of the gates of this role."""
        if self.kind == RoleKind.COUNCIL:
            known = {"council_id": self.council_id} if self.council_id else {}
            return {"who": "council", "council": self.council, **known}
        return {"who": "person"} | ({"hours": self.hours, "expiry": "return"} if self.hours else {})
