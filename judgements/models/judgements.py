from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import models, transaction
from django.db.models import Prefetch, Q

from engine.audit import sealing
from engine.db import cached_sql
from engine.llm.own_words import repeated
from engine.llm.providers import is_rehearsal, provider_lane
from engine.models import ModelCall, Review, Run, after_deadlock, last_override, requester_name
from engine.models.budgets import Budget
from engine.models.child_runs import NO_OTHER_OWNER
from engine.text.invisible_chars import visible_text
from engine.text.search_terms import index_words, label_term
from runs.models import RunFlag, SearchText, Start, initial_labels
from runs.rights import SEE, RunRight, User
from runs.row_queries import with_run

from .. import prompts, rules
from ..estimate import JudgementEstimate, estimate
from ..rules import AgentDecision, Verdict
from .presets import AgentColumns, AgentValues, CouncilVersion

CONTENT_LENGTH = 20_000


class JudgementFlag(models.TextChoices):
    """What makes a judgement worth a look, beside what makes any run: labels that it is found by."""

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
"""The words of a judgement without a verdict, each with what its run is then."""


def status_of(run: Run) -> str:
    """The verdict, where there is one, or one of `STATUS_LABELS`."""
    finished = run.outcome if run.status == Run.Status.FINISHED else None
    return finished or next((word for word, runs in STATUS_LABELS.items() if run.status in runs), "judging")


class CouncilRequired(PermissionDenied):
    """Agents of somebody who may judge by councils alone, and whose these are not."""

    def __init__(self) -> None:
        super().__init__("You may judge by councils only. Choose one, and leave its agents as they are.")


class JudgementQuerySet(models.QuerySet["Judgement"]):
    def in_scope(self, right: RunRight, user: User) -> "JudgementQuerySet":
        """Those to which a right of this user reaches."""
        return right.within(self, user, "run__owner_id")

    def visible_to(self, user: User) -> "JudgementQuerySet":
        return self.in_scope(SEE, user)

    def with_agents(self) -> "JudgementQuerySet":
        """With everything that a page shows of a judgement, in a few queries however many there are."""
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
        """Queue a judgement: run, judgement, three agents and the seal on them stand together or not at all.

        `council`: the version that the agents were taken from. The judgement bears its name if they are still the same.
        CouncilChanged where they are, and it is not what the council is now; OnlyCouncils where they are not, and the
        owner may not judge by agents of one's own. `earlier`: which judgement this one judges again; `request`: see
        there; `made_by`: as `SubmitChild` of the engine. BudgetUsedUp where a budget has not enough left for what
        it may cost.
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
            Agent(judgement=judgement, seat=seat, **agent) for seat, agent in zip(rules.SEATS, agents, strict=True)
        ]
        cached_sql.insert(run)
        cached_sql.insert(judgement)
        cached_sql.bulk_insert(seated)
        rehearsal = any(is_rehearsal(agent["model"]) for agent in agents)
        names = index_words(" ".join(agent["name"] for agent in agents))
        words = [label_term("rehearsal", rehearsal), *judgement.preview(), *names]
        cached_sql.insert(SearchText(run=run, words=" ".join(words)))
        if council:
            Start.objects.create(run=run, shelf="council", key=council.council_id, owner=owner, rehearsal=rehearsal)
        sealing.record_submission(judgement.pk)
        return judgement


def _borne(council: CouncilVersion | None, agents: Sequence[AgentValues], owner: Any) -> CouncilVersion | None:
    """The council that a judgement by these agents bears, held until the transaction's end. Nobody owns what the
    command line asks, which may all."""
    if council and council.has_agents(agents):
        council.hold()
        return council
    if owner and not owner.has_perm("judgements.own_agents"):
        raise CouncilRequired
    return None


class Judgement(models.Model):
    """Three agents decide about one content. Title, life cycle and verdict are its run's."""

    run = models.OneToOneField(Run, on_delete=models.PROTECT, primary_key=True, related_name="judgement")
    content = models.TextField(max_length=CONTENT_LENGTH)
    council_version = models.ForeignKey(CouncilVersion, on_delete=models.PROTECT, null=True, related_name="judgements")
    earlier = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="later")
    prompt_version = models.CharField(max_length=20)

    record_hash: str | None = None  # of the newest entry of one that is over, where it was read with `whole()`

    objects = JudgementQuerySet.as_manager()

    class Meta:
        default_permissions = ()  # whose judgements somebody may see and steer, the permissions of runs say

    def __str__(self) -> str:
        return visible_text(self.run.shown_title)

    @property
    def override(self) -> Review | None:
        """What a person decided instead of the agents, last."""
        return last_override(self.run.reviews.all())

    @property
    def calls(self) -> list[ModelCall]:
        """The model calls as pages need them: oldest first, without what was asked and answered."""
        return list(self.run.calls.order_by("pk").defer("prompt", "answer"))

    @property
    def status(self) -> str:
        """The word of the page and the API; never stored a second time."""
        return status_of(self.run)

    @property
    def rehearsal(self) -> bool:
        """True if any answer comes from the rehearsal instead of a model."""
        return any(is_rehearsal(agent.model) for agent in self.agents.all())

    @property
    def rehearsal_sentence(self) -> str:
        """Who asked no model; empty where every agent did."""
        names = [agent.name for agent in self.agents.all() if is_rehearsal(agent.model)]
        if len(names) == len(rules.SEATS):
            return "Rehearsal: no model was asked."
        return f"Rehearsal: no model was asked for {' and '.join(names)}." if names else ""

    def agents_as_put(self) -> list[AgentValues]:
        """The three agents as a new judgement takes them."""
        return [
            {"name": agent.name, "model": agent.model, "criteria": agent.criteria, "fallback": agent.fallback}
            for agent in self.agents.all()
        ]

    @property
    def histories(self) -> dict[str, dict[int, AgentDecision]]:
        """What was decided so far, by seats and rounds."""
        return {agent.seat: agent.history for agent in self.agents.all()}

    @cached_property
    def repeated(self) -> dict[prompts.Place, prompts.Place]:
        """By round and seat of a reason: where the same was said first, word for word."""
        decided = ((agent.seat, decision) for agent in self.agents.all() for decision in agent.decided)
        return repeated({(decision.round, seat): decision.reason for seat, decision in decided})

    @property
    def current_round(self) -> int:
        """The first round with a decision missing; 3 when none is."""
        histories = self.histories.values()
        return next((n for n in rules.ROUNDS if any(n not in h for h in histories)), rules.ROUNDS[-1])

    def preview(self) -> list[str]:
        """What it can be found by from the start."""
        labels = initial_labels(self.run)
        if self.council_version:
            labels.append(label_term("council", self.council_version.council_id))
        return [*labels, *index_words(f"{self.run.title}\n{self.content}")]

    def estimate(self) -> JudgementEstimate:
        """What it may cost if all of it is asked (again)."""
        return estimate(self.content, self.agents_as_put())

    def conclude(self) -> None:
        """Write the verdict that the nine stored decisions make. ValueError while one is missing."""
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


class Agent(AgentColumns):
    judgement = models.ForeignKey(Judgement, on_delete=models.PROTECT, related_name="agents")

    class Meta:
        ordering = ["seat"]
        permissions = [("own_agents", "Can judge by agents of one's own, not of a council")]
        constraints = [models.UniqueConstraint("judgement", "seat", name="one_agent_per_seat")]

    @property
    def decided(self) -> "list[RoundDecision]":
        """Its decisions, by round."""
        return list(self.decisions.all())

    @property
    def history(self) -> dict[int, AgentDecision]:
        return {decision.round: AgentDecision(decision.decision) for decision in self.decided}

    @property
    def verdict(self) -> Verdict | None:
        history = self.history
        return rules.agent_verdict(history) if len(history) == len(rules.ROUNDS) else None

    def step(self, number: int) -> str:
        """What the engine calls this agent's answer in a round."""
        return f"{self.seat}{number}"

    def decide(self, number: int, answer: prompts.JudgementAnswer, call: ModelCall) -> None:
        made = RoundDecision(agent=self, round=number, decision=answer.decision, reason=answer.reason, call=call)
        cached_sql.insert(made)
        SearchText.objects.add(self.judgement_id, index_words(answer.reason))


class RoundDecision(models.Model):
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="decisions")
    round = models.PositiveSmallIntegerField()
    decision = models.CharField(max_length=7, choices=[(d, d) for d in AgentDecision])
    reason = models.TextField()
    call = models.OneToOneField(ModelCall, on_delete=models.PROTECT, related_name="decision")
    created = models.DateTimeField(auto_now_add=True)

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
        """The moment of the commit that it shares with the end of its call."""
        return self.call.ended or self.created


def flags_of(histories: Mapping[str, rules.History], *, fallback: bool) -> Iterator[models.TextChoices]:
    """What the nine decisions, by seats, make remarkable, and whether a fallback gave any of them."""
    if rules.is_swayed(histories):
        yield JudgementFlag.SWAYED
    if any(map(rules.is_carried, histories.values())):
        yield JudgementFlag.CARRIED
    if any(map(rules.rounds_with_change, histories.values())):
        yield JudgementFlag.CHANGED
    if fallback:
        yield RunFlag.FALLBACK


def title_of(content: str) -> str:
    """A title for a judgement that was given none: the first line of its content."""
    line = next((line.strip() for line in content.splitlines() if _shows(line)), "")
    return line if len(line) <= 80 else f"{line[:79].rstrip()}…"


def _shows(line: str) -> bool:
    """Whether there is anything to see: a link needs something to be clicked on."""
    return any(char.isprintable() and not char.isspace() for char in line)
