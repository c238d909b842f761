from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import models, transaction
from django.db.models import Prefetch, Q

from engine.audit import sealing
from engine.db import cached_sql
from engine.ledger.immutability import Immutable
from engine.llm.own_words import repeated
from engine.llm.providers import is_rehearsal, provider_lane
from engine.models import ModelCall, Review, Run, after_deadlock, last_override, requester_name
from engine.models.budgets import Budget
from engine.models.child_runs import NO_OTHER_OWNER
from engine.text.invisible_chars import visible_text
from engine.text.search_terms import index_words, label_term
from runs.models import PresetUse, RunFlag, SearchText, initial_labels
from runs.rights import SEE, RunRight, User
from runs.row_queries import with_run

from .. import prompts, rules
from ..estimate import JudgementEstimate, estimate
from ..rules import AgentDecision, Verdict
from .presets import AgentColumns, AgentValues, CouncilVersion

CONTENT_LENGTH = 20_000


class JudgementFlag(models.TextChoices):
    """Flags of a judgement, in addition to those of every run; the history can be filtered by them."""

    SWAYED = "swayed", "Swayed"
    CARRIED = "carried", "Carried"
    CHANGED = "changed", "Changed its mind"


FLAGS: tuple[models.TextChoices, ...] = (*JudgementFlag, *RunFlag)


STATUS_LABELS: dict[str, list[str]] = {
    "error": [Run.Status.FAILED],
    "cancelled": [Run.Status.CANCELLED],
    "judging": [Run.Status.RUNNING, Run.Status.WAITING],
    "idle": [Run.Status.QUEUED],
}
"""Status words of a judgement without a verdict, each with the run statuses that it covers."""


def status_of(run: Run) -> str:
    """Return the verdict if there is one, else a key of `STATUS_LABELS`, else "judging"."""
    finished = run.outcome if run.status == Run.Status.FINISHED else None
    return finished or next((word for word, runs in STATUS_LABELS.items() if run.status in runs), "judging")


class CouncilRequired(PermissionDenied):
    """A user who may judge by councils only has submitted agents that are no council's."""

    def __init__(self) -> None:
        super().__init__("You may judge by councils only. Choose one, and leave its agents as they are.")


class JudgementQuerySet(models.QuerySet["Judgement"]):
    def in_scope(self, right: RunRight, user: User) -> "JudgementQuerySet":
        """Return the judgements that `right` permits this user to access."""
        return right.within(self, user, "run__owner_id")

    def visible_to(self, user: User) -> "JudgementQuerySet":
        return self.in_scope(SEE, user)

    def with_agents(self) -> "JudgementQuerySet":
        """Load everything that a page shows, in a number of queries that does not grow with the judgements."""
        calls = Prefetch("agents__decisions__call", ModelCall.objects.with_time_before().defer("prompt", "answer"))
        return with_run(self).select_related("council_version").prefetch_related(calls)

    @after_deadlock
    @transaction.atomic
    def submit(
        self,
        *,
        owner: Any,
        content: str,
        agents: Iterable[dict[str, str]],
        title: str = "",
        council: CouncilVersion | None = None,
        earlier: "Judgement | None" = None,
        request: str = "",
        made_by: Mapping[str, Any] = NO_OTHER_OWNER,
    ) -> "Judgement":
        """Queue a judgement: its run, its row, three agents and the audit log entry, in one transaction.

        `council`: the version that the agents came from. The judgement is attributed to it if the agents are
        unchanged. Raises CouncilChanged if they are unchanged but the council has a newer version, and
        CouncilRequired if they differ and the owner may not choose their own agents. Raises BudgetExceeded if a
        budget has less left than the estimated cost.

        `earlier`: the judgement that this one repeats. `request`: see `submissions.submit`. `made_by`: as
        `SubmitChild` of the engine.
        """
        agents = list(agents)
        council = _borne(council, agents, owner)
        reserved = Budget.objects.reserve(owner, estimate(content, agents).cost)
        lane = provider_lane(agent["model"] for agent in agents)
        run = Run(
            procedure="judgement",
            **requester_name(owner, made_by),
            lane=lane,
            title=title if _shows(title) else title_of(content),
            request=request,
            **reserved,
        )
        judgement = Judgement(
            run=run,
            content=content,
            council_version=council,
            earlier=earlier,
            prompt_version=prompts.VERSION,
        )
        seated = [
            JudgementAgent(judgement=judgement, seat=seat, **agent)
            for seat, agent in zip(rules.SEATS, agents, strict=True)
        ]
        cached_sql.insert(run)
        cached_sql.insert(judgement)
        cached_sql.bulk_insert(seated)
        rehearsal = any(is_rehearsal(agent["model"]) for agent in agents)
        names = index_words(" ".join(agent["name"] for agent in agents))
        words = [label_term("rehearsal", rehearsal), *judgement.preview(), *names]
        cached_sql.insert(SearchText(run=run, words=" ".join(words)))
        if council:
            PresetUse.objects.create(run=run, shelf="council", key=council.council_id, owner=owner, rehearsal=rehearsal)
        sealing.record_submission(judgement.pk)
        return judgement


def _borne(council: CouncilVersion | None, agents: Sequence[AgentValues], owner: Any) -> CouncilVersion | None:
    """Return the council version that the judgement is attributed to, locked until the transaction ends. The
    command line has no owner and may use any agents."""
    if council and council.has_agents(agents):
        council.hold()
        return council
    if owner and not owner.has_perm("judgements.own_agents"):
        raise CouncilRequired
    return None


class Judgement(models.Model):
    """Three agents decide about one content. The title, life cycle and verdict are in its run."""

    run = models.OneToOneField(Run, on_delete=models.PROTECT, primary_key=True, related_name="judgement")
    content = models.TextField(max_length=CONTENT_LENGTH)
    council_version = models.ForeignKey(CouncilVersion, on_delete=models.PROTECT, null=True, related_name="judgements")
    earlier = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="later")
    prompt_version = models.CharField(max_length=20)

    record_hash: str | None = None  # of the newest entry of an ended run, if read by `with_agents()`

    objects = JudgementQuerySet.as_manager()
    immutable = Immutable(erased="content", run="run")

    class Meta:
        default_permissions = ()  # access to judgements follows from the permissions for runs

    def __str__(self) -> str:
        return visible_text(self.run.shown_title)

    @property
    def override(self) -> Review | None:
        """Return the last outcome that a person set instead of the agents' verdict."""
        return last_override(self.run.reviews.all())

    @property
    def calls(self) -> list[ModelCall]:
        """Return the model calls for pages: oldest first, without prompts and answers."""
        return list(self.run.calls.order_by("pk").defer("prompt", "answer"))

    @property
    def status(self) -> str:
        """Status word of the page and the API; derived, never stored."""
        return status_of(self.run)

    @property
    def rehearsal(self) -> bool:
        """Return whether any agent answers by rehearsal instead of a model."""
        return any(is_rehearsal(agent.model) for agent in self.agents.all())

    @property
    def rehearsal_sentence(self) -> str:
        """Return the sentence that names the agents that ask no model; empty if all agents ask one."""
        names = [agent.name for agent in self.agents.all() if is_rehearsal(agent.model)]
        if len(names) == len(rules.SEATS):
            return "Rehearsal: no model was asked."
        return f"Rehearsal: no model was asked for {' and '.join(names)}." if names else ""

    def as_submitted(self) -> dict[str, str]:
        """Return the values of the start form. A title taken from the content is empty, as the content may change."""
        title = "" if self.run.title == title_of(self.content) else self.run.title
        return {"title": title, "content": self.content}

    def agents_as_put(self) -> list[AgentValues]:
        """Return the three agents in the form that a new judgement takes."""
        return [
            {"name": agent.name, "model": agent.model, "criteria": agent.criteria, "fallback": agent.fallback}
            for agent in self.agents.all()
        ]

    @property
    def histories(self) -> dict[str, dict[int, AgentDecision]]:
        """Decisions so far, by seat and round."""
        return {agent.seat: agent.history for agent in self.agents.all()}

    @cached_property
    def repeated(self) -> dict[prompts.Place, prompts.Place]:
        """Map the round and seat of each repeated reason to the place where the same words were first used."""
        decided = ((agent.seat, decision) for agent in self.agents.all() for decision in agent.decided)
        return repeated({(decision.round, seat): decision.reason for seat, decision in decided})

    @property
    def current_round(self) -> int:
        """Return the first round with a missing decision, or 3 if none is missing."""
        histories = self.histories.values()
        return next((n for n in rules.ROUNDS if any(n not in h for h in histories)), rules.ROUNDS[-1])

    def preview(self) -> list[str]:
        """Return the search terms that are known on submission."""
        labels = initial_labels(self.run)
        if self.council_version:
            labels.append(label_term("council", self.council_version.council_id))
        return [*labels, *index_words(f"{self.run.title}\n{self.content}")]

    def estimate(self) -> JudgementEstimate:
        """Estimate the cost of all nine calls, as if none had been made yet."""
        return estimate(self.content, self.agents_as_put())

    def conclude(self) -> None:
        """Save the verdict and flags that follow from the nine stored decisions. Raises ValueError while one is
        missing."""
        histories: dict[str, dict[int, AgentDecision]] = {seat: {} for seat in rules.SEATS}
        fallback = False
        for seat, number, decision, own, asked in cached_sql.select(
            RoundDecision, "agent__judgement", [self.pk], DECIDED
        ):
            histories[seat][number] = AgentDecision(decision)
            fallback = fallback or asked != own
        verdict = rules.verdict(histories)
        cached_sql.update(Run, self.pk, outcome=verdict)
        flags = [label_term("flag", flag) for flag in flags_of(histories, fallback=fallback)]
        SearchText.objects.add(self.pk, [label_term("verdict", verdict), *flags])


DECIDED = ("agent__seat", "round", "decision", "agent__model", "call__model")


class JudgementAgent(AgentColumns):
    judgement = models.ForeignKey(Judgement, on_delete=models.PROTECT, related_name="agents")
    immutable = Immutable()

    class Meta:
        db_table = "judgements_agent"
        ordering = ["seat"]
        permissions = [("own_agents", "Can judge by agents of one's own, not of a council")]
        constraints = [models.UniqueConstraint("judgement", "seat", name="one_agent_per_seat")]

    @property
    def decided(self) -> "list[RoundDecision]":
        """Decisions of this agent, by round."""
        return list(self.decisions.all())

    @property
    def history(self) -> dict[int, AgentDecision]:
        return {decision.round: AgentDecision(decision.decision) for decision in self.decided}

    @property
    def verdict(self) -> Verdict | None:
        history = self.history
        return rules.agent_verdict(history) if len(history) == len(rules.ROUNDS) else None

    def step(self, number: int) -> str:
        """Return the engine's name of this agent's call in a round, such as "A1"."""
        return f"{self.seat}{number}"

    def decide(self, number: int, answer: prompts.JudgementAnswer, call: ModelCall) -> None:
        made = RoundDecision(agent=self, round=number, decision=answer.decision, reason=answer.reason, call=call)
        cached_sql.insert(made)
        SearchText.objects.add(self.judgement_id, index_words(answer.reason))


class RoundDecision(models.Model):
    agent = models.ForeignKey(JudgementAgent, on_delete=models.PROTECT, related_name="decisions")
    round = models.PositiveSmallIntegerField()
    decision = models.CharField(max_length=7, choices=[(d, d) for d in AgentDecision])
    reason = models.TextField()
    call = models.OneToOneField(ModelCall, on_delete=models.PROTECT, related_name="decision")
    created = models.DateTimeField(auto_now_add=True)
    immutable = Immutable(erased="reason", run="agent.judgement")

    class Meta:
        ordering = ["round"]
        constraints = [
            models.UniqueConstraint("agent", "round", name="one_decision_per_agent_and_round"),
            models.CheckConstraint(name="round_known", condition=Q(round__in=list(rules.ROUNDS))),
            models.CheckConstraint(name="decision_known", condition=Q(decision__in=["approve", "reject"])),
        ]

    def __str__(self) -> str:
        return f"{self.agent}: {self.decision} in round {self.round}"

    @property
    def made(self) -> datetime:
        """When the decision was made: the end of its call, which is committed with it."""
        return self.call.ended or self.created


def flags_of(histories: Mapping[str, rules.History], *, fallback: bool) -> Iterator[models.TextChoices]:
    """Yield the flags that follow from all nine decisions. `fallback`: a fallback model gave at least one of them."""
    if rules.is_swayed(histories):
        yield JudgementFlag.SWAYED
    if any(map(rules.is_carried, histories.values())):
        yield JudgementFlag.CARRIED
    if any(map(rules.rounds_with_change, histories.values())):
        yield JudgementFlag.CHANGED
    if fallback:
        yield RunFlag.FALLBACK


def title_of(content: str) -> str:
    """Return the default title: the first visible line of the content, cut to 80 characters."""
    line = next((line.strip() for line in content.splitlines() if _shows(line)), "")
    return line if len(line) <= 80 else f"{line[:79].rstrip()}…"


def _shows(line: str) -> bool:
    """Return whether a line has a visible character: an invisible title would be a link that nobody can click."""
    return any(char.isprintable() and not char.isspace() for char in line)
