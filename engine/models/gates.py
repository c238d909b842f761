"""Gates: what a run may not do before somebody has decided about exactly this text.

Why so: docs/decisions.md, Gates.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from operator import itemgetter
from typing import Any, Self
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import F, Q
from django.db.models.lookups import IsNull
from django.utils import timezone

from engine.ledger.entries import DECIDED, GATE, USED
from engine.ledger.hashing import EntryDraft, format_timestamp
from engine.policy import (
    EXTERNAL_EFFECT,
    REJECT,
    REMIND,
    asks_persons,
    council_decision,
    decisions_conflict,
    policy_state,
)

from ..ledger.immutability import ChangeRule, Immutable
from .claims import ACTIVE_STATUSES
from .gate_access import (
    asked_by_permission,
    council_only,
    decidable_by,
    decided_by,
    run_condition,
    run_is_active,
    written_by,
)
from .rehearsals import is_only_rehearsal, was_rehearsed
from .run_events import RunEvent, RunEventType

DECIDE_PERMISSION = "engine.decide_gate"  # at everybody's gates
TITLE_LENGTH = 200  # characters
DECIDED_BY_TIME = ""  # who decided where time did


class GateState(models.TextChoices):
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    ANSWERED = "answered"
    EXPIRED = "expired"
    FAILED = "failed"
    VOID = "void"


class DecisionValue(models.TextChoices):
    """What a person may say. `EXPIRE` is said by nobody, when the time was over, and of a council that came to nothing
    `TURN` where persons decide now, or `FAIL` where nobody does. `OVERRIDE` opens what a council has refused; `LOOK`
    decides nothing: somebody has seen what the council said before it was shown.
    """

    APPROVE = "approve"
    REJECT = "reject"
    ANSWER = "answer"
    OVERRIDE = "override"
    LOOK = "look"
    EXPIRE = "expire"
    TURN = "turn"
    FAIL = "fail"


NOT_DECIDED = (DecisionValue.LOOK, DecisionValue.TURN)  # noted, and nothing was decided by it
OPENS = (DecisionValue.APPROVE, DecisionValue.OVERRIDE)
DECIDED_STATES = (DecisionValue.APPROVE, DecisionValue.REJECT, DecisionValue.ANSWER)


class GateAlreadyUsed(Exception):
    """What this gate allowed has been done, or is allowed no more."""


class GateQuerySet(models.QuerySet["Gate"]):
    def with_decisions(self) -> Self:
        decisions = models.Prefetch("decisions", GateDecision.objects.select_related("judged_by"))
        return self.select_related("run", "council", "asked_user", "asked_group").prefetch_related(decisions)

    def listed(self) -> Self:
        """With what a list shows, and who may decide there."""
        return self.select_related("run").prefetch_related("decisions")

    def pending(self) -> Self:
        """What is still asked: of a run that has ended nothing is."""
        return self.filter(run_is_active(), state=GateState.PENDING)

    def for_user(self, user: Any) -> Self:
        """What waits for this person: asked by name, in one of its groups, or as whose run it is, and not said yet, or
        once more where a council has refused it. Where somebody else than the owner has to decide and nobody is named,
        it waits for all who may decide at everybody's gates."""
        return self.for_single_user(user, decides=user.has_perm(DECIDE_PERMISSION))

    def for_single_user(self, user: Any, *, decides: bool) -> Self:
        """As `for_user`, of whom it is known whether it decides at everybody's gates."""
        here = Q(run_condition(owner=user)) | (Q(policy__four_eyes=True) if decides else Q())
        asked = self.pending().filter(decidable_by(user) | asked_by_permission() & here)
        return asked.exclude(council_only() | Q(policy__four_eyes=True) & written_by(user) | decided_by(user))

    def decidable_by_others(self, user: Any) -> Self:
        """What this person's runs ask of somebody else: all of theirs that `for_user` leaves out, said without a list
        of those."""
        named = ~(decidable_by(user) | asked_by_permission())
        others = named | council_only() | Q(policy__four_eyes=True) | decided_by(user)
        return self.filter(others, run_condition(status__in=ACTIVE_STATUSES, owner=user), state=GateState.PENDING)

    def not_for_author(self, user: Any) -> Self:
        """Those of which somebody else has to decide: this person asked for the run, or wrote what is asked about."""
        return self.filter(written_by(user), policy__four_eyes=True)

    def asking_persons(self) -> Self:
        """Not those that a council alone decides, as long as it may come to something."""
        return self.exclude(council_only())

    def hidden_from_user(self, user: Any) -> Self:
        """At which what the council says is to be seen by nobody yet, but by who has looked, on record."""
        looked = GateDecision.objects.filter(by_user=user, decision=DecisionValue.LOOK).values("gate")
        return self.filter(hides=True).exclude(pk__in=looked)

    def hidden(self) -> models.QuerySet["Gate", Any]:
        """The runs that are shown to nobody yet, by their keys."""
        return self.filter(hides=True).order_by().values_list("council", flat=True)

    def decidable_by(self, user: Any) -> Self:
        """What this person was ever asked by name or in a group: it may see those runs."""
        return self.filter(decidable_by(user))

    def asked_user_keys(self) -> set[Any]:
        """Who is asked at these, by their keys: by name, and all members of the groups."""
        users = self.order_by().values_list("asked_user", flat=True)
        members = Group.objects.filter(pk__in=self.values("asked_group")).values_list("user", flat=True)
        return set(users.union(members)) - {None}

    def newest(self, run: UUID, step: str) -> "Gate | None":
        return self.with_decisions().filter(run=run, step=step).order_by("-number").first()

    def newest_of_all(self) -> int:
        """Anybody's, which is found at once; nought where nothing was ever asked. What is newer came later."""
        return self.order_by("-pk").values_list("pk", flat=True).first() or 0

    def open(self, before: "Gate | None", **values: Any) -> "Gate":
        """Ask at this place, or ask there anew: then nobody is asked any more what stood there before.

        In a transaction of the run's worker.
        """
        if before:
            self.filter(pk=before.pk).void()
        made = timezone.now()
        policy = values["policy"]
        ends = policy["hours"] is not None and policy["expiry"] != REMIND
        expires = made + timedelta(hours=policy["hours"]) if ends else None
        gate = self.create(number=before.number + 1 if before else 1, made=made, expires=expires, **values)
        RunEvent.objects.record(RunEventType.ASKS, [gate.run_id], gate=gate.pk)
        return gate

    def void(self) -> int:
        """Nobody is asked these any more."""
        return self.filter(state=GateState.PENDING).update(state=GateState.VOID, closed=timezone.now(), hides=False)

    def expire(self, gate: "Gate", now: datetime) -> None:
        """Close it as its time is over, unless somebody decided just before. In a transaction of the run's worker."""
        decision = DecisionValue.REJECT if gate.policy["expiry"] == REJECT else DecisionValue.EXPIRE
        state = GateState.REJECTED if decision == DecisionValue.REJECT else GateState.EXPIRED
        due = self.filter(pk=gate.pk, state=GateState.PENDING, expires__lte=now)
        if due.update(state=state, closed=timezone.now(), hides=False):
            GateDecision.objects.create(gate=gate, by=DECIDED_BY_TIME, account=DECIDED_BY_TIME, decision=decision)

    def drafts(self, runs: Iterable[UUID]) -> list[tuple[UUID, EntryDraft]]:
        """What these runs were asked and answered, each kind in its order."""
        gates = {gate.pk: gate for gate in self.filter(run__in=list(runs)).order_by("pk")}
        decisions = GateDecision.objects.filter(gate__in=gates).order_by("pk") if gates else []
        asked = [(gate.run_id, gate.draft()) for gate in gates.values()]
        used = [(gate.used, pk, gate) for pk, gate in gates.items() if gate.used and gate.asked_account is not None]
        asked += [(gate.run_id, gate.use_draft()) for _, _, gate in sorted(used, key=itemgetter(0, 1))]
        return asked + [(gates[one.gate_id].run_id, one.draft(gates[one.gate_id])) for one in decisions]

    def erase(self, run: UUID) -> None:
        self.filter(run=run).update(title="", text="")
        GateDecision.objects.filter(gate__run=run).update(text="", answer="")


IN_ORDER = (IsNull(F("expires"), True), "expires", "made", "id")  # as it stands in an index: nothing is to be sorted


def ordered_gates(gates: GateQuerySet) -> GateQuerySet:
    """What has an end first, then what has waited longest."""
    return gates.order_by(*IN_ORDER)


class Gate(models.Model):
    """One thing that a run may not do before somebody has decided about exactly this text.

    `kind` is the procedure's word for it, `step` the place in the run, and `number` counts how often it was asked
    there: with another text, or of somebody else. `whole`: SHA-256 of what `text` was cut from, empty where nothing
    was cut: what is not in the text is named there. `policy` as in `policy_of`. `choices` are the procedure's own
    words, each with the decision that it belongs to and the sentence on its button. `effect`: of what it asks for, on
    the world. `council`: the run that was asked, and `hides` as long as what it says is shown to nobody; `when_failed`:
    what it means if it comes to nothing. `asked`: who was asked, as they were called then; nobody by name are the run's
    owner and who may decide for all.
    `asked_account`: the account or the group of that name, empty where nobody is asked by name; older ones do not say,
    and their use is not told either. `used`: when what it allowed was begun.
    """

    State = GateState

    run = models.ForeignKey("engine.Run", on_delete=models.PROTECT, related_name="gates")
    step = models.CharField(max_length=80)
    number = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=20)
    tool = models.CharField(max_length=120, blank=True)
    title = models.CharField(max_length=TITLE_LENGTH, blank=True)
    text = models.TextField(blank=True)
    whole = models.CharField(max_length=64, blank=True)
    policy = models.JSONField()
    choices = models.JSONField(default=list)
    when_failed = models.CharField(max_length=8, default="person")
    asked_user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="gates")
    asked_group = models.ForeignKey("auth.Group", on_delete=models.SET_NULL, null=True, related_name="+")
    asked = models.CharField(max_length=150, blank=True)
    asked_account = models.CharField(max_length=40, null=True, blank=True)  # noqa: DJ001 - older ones do not say
    state = models.CharField(max_length=10, choices=State, default=State.PENDING)
    made = models.DateTimeField()
    closed = models.DateTimeField(null=True)
    expires = models.DateTimeField(null=True)
    used = models.DateTimeField(null=True)
    effect = models.CharField(max_length=12, blank=True, db_default="")
    council = models.ForeignKey("engine.Run", on_delete=models.PROTECT, null=True, related_name="asked_at")
    hides = models.BooleanField(db_default=False)

    objects = GateQuerySet.as_manager()
    immutable = Immutable(
        once="closed used council",
        unlinked="asked_user asked_group",
        erased="title text",
        free="hides",
        rules=(ChangeRule("closed", when="OLD.state <> 'pending'", kept="state"),),
        run="run",
    )

    class Meta:
        ordering = ["pk"]
        permissions = [
            ("decide_gate", "Can decide at everybody's gates"),
            ("override_gate", "Can override a council at a gate, and look at what it says before it is shown"),
        ]
        indexes = [
            models.Index(fields=["asked_user"], condition=Q(state="pending"), name="gate_of_user"),
            models.Index(fields=["asked_group"], condition=Q(state="pending"), name="gate_of_group"),
            models.Index(fields=["run"], condition=Q(state="pending"), name="gate_pending"),
            models.Index(*IN_ORDER, condition=Q(state="pending"), name="gate_in_order"),
            models.Index(fields=["council"], condition=Q(hides=True), name="gate_that_hides"),
        ]
        constraints = [models.UniqueConstraint(fields=["run", "step", "number"], name="one_gate_of_a_number")]

    def __str__(self) -> str:
        return f"{self.kind} {self.step}, {self.number}"

    @property
    def pending(self) -> bool:
        return self.state == GateState.PENDING

    @property
    def approved(self) -> bool:
        return self.state == GateState.APPROVED

    @property
    def reaches_out(self) -> bool:
        """Whether its own effect sends something out; a tool of unknown effect counts as one that does."""
        return self.effect == EXTERNAL_EFFECT or bool(self.tool and not self.effect)

    @property
    def asks_for_answers(self) -> bool:
        """Whether nothing is there to be approved."""
        named = {one["decision"] for one in self.choices}
        return DecisionValue.ANSWER in named and DecisionValue.APPROVE not in named

    @property
    def is_decided(self) -> bool:
        """Whether the decision still allows what it did: not where a council's was overridden or erased since, or was a
        rehearsal."""
        judged = next((one.judged_by for one in self.decisions.all() if one.judged_by_id), None)
        overridden = any(one.decision == DecisionValue.OVERRIDE for one in self.decisions.all())
        if judged is None or overridden:
            return True
        if was_rehearsed(judged) and not is_only_rehearsal(self.run):  # it may be older than that this was refused
            return False
        return judged.override is None and judged.redacted is None

    @property
    def is_acknowledged(self) -> bool:
        """Whether the council has said what it came to, and be it nothing."""
        return any(one.of_council for one in self.decisions.all())

    @property
    def is_split(self) -> bool:
        """Whether a council refuses what is still pending: to be refused by persons, too, or overridden."""
        return self.pending and decisions_conflict(self.policy, self.decisions.all())

    def looked_user_keys(self) -> set[Any]:
        """Who has seen what the council says before it is shown, by their keys."""
        looked = GateDecision.objects.filter(gate=self, decision=DecisionValue.LOOK)
        return set(looked.values_list("by_user", flat=True))

    @property
    def needs_people(self) -> bool:
        return asks_persons(self.policy, self.decisions.all())

    @property
    def cut(self) -> bool:
        """Whether its text names something that it does not show."""
        return bool(self.whole)

    @property
    def digest(self) -> str:
        """Of the text, to be shown; nothing rests on it."""
        return sha256(self.text.encode()).hexdigest()

    @property
    def last_decision(self) -> "GateDecision | None":
        said = (one for one in self.decisions.all() if one.decision not in NOT_DECIDED)
        return max(said, key=lambda one: one.pk, default=None)

    @property
    def council_said(self) -> str:
        return council_decision(self.decisions.all())

    @property
    def choice(self) -> str:
        """The procedure's own word that it was closed by, if it has one."""
        return self.last_decision.choice if self.last_decision else ""

    @property
    def words(self) -> str:
        return self.last_decision.text if self.last_decision else ""

    @property
    def answer(self) -> Any:
        return self.last_decision.value if self.last_decision else None

    def permits(self, text: str, whole: str, asked: Any) -> bool:
        """Whether it is the gate for this: neither used nor gone, nor about something else."""
        gone = self.used or self.state == GateState.VOID or (self.approved and not self.is_decided)
        return not gone and self.is_about(text, whole, asked)

    def is_about(self, text: str, whole: str, asked: Any) -> bool:
        """Whether it asks this, of this user or group."""
        group = isinstance(asked, Group)
        ids = (None if group or asked is None else asked.pk, asked.pk if group else None)
        same = (self.asked_user_id, self.asked_group_id) == ids  # another may have the name by now
        return same and (self.text, self.whole, self.asked) == (text, whole, approver_name(asked))

    def consume(self) -> None:
        """Its decision is acted on, in this transaction: it never allows anything again. AlreadyUsed."""
        if self.approved and not Gate.objects.with_decisions().get(pk=self.pk).is_decided:
            raise GateAlreadyUsed(f"{self}: its council was decided otherwise")
        # in the record uses stand in the order of their times, whichever host's clock they are of
        before = Gate.objects.filter(run=self.run_id).aggregate(last=models.Max("used"))["last"]
        now = timezone.now()
        used = max(now, before + timedelta(microseconds=1)) if before else now
        if not Gate.objects.filter(pk=self.pk, used=None).update(used=used):
            raise GateAlreadyUsed(str(self))

    def draft(self) -> EntryDraft:
        facts: dict[str, Any] = {
            "step": self.step,
            "number": self.number,
            "kind": self.kind,
            "policy": self.policy,
            "choices": self.choices,
            "expires": format_timestamp(self.expires),
        }
        facts |= {name: getattr(self, name) for name in ("tool", "whole", "asked", "effect") if getattr(self, name)}
        facts |= {"council": str(self.council_id)} if self.council_id else {}
        if self.asked_account is not None:
            facts |= {"asked_account": self.asked_account, "when_failed": self.when_failed}
        return EntryDraft(
            GATE, format_timestamp(self.made) or "", facts, {"title": self.title, "text": self.text}, row=self.pk
        )

    def use_draft(self) -> EntryDraft:
        return EntryDraft(
            USED, format_timestamp(self.used) or "", {"step": self.step, "number": self.number}, row=self.pk
        )


class GateDecision(models.Model):
    """Who said what at a gate. `by`: their name then, `account` the key of their account, empty where no person did;
    older ones do not say. `answer` is JSON, and empty where there is none. `judged_by`: the run whose outcome it is.
    `knew_council`: what the council says was shown to this person by then. `authors`: where four eyes are wanted, whose
    words were in what was asked, by the names that they had then."""

    gate = models.ForeignKey(Gate, on_delete=models.PROTECT, related_name="decisions")
    by_user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    by = models.CharField(max_length=150, blank=True)
    account = models.CharField(max_length=40, null=True, blank=True)  # noqa: DJ001 - older ones do not say
    judged_by = models.ForeignKey("engine.Run", on_delete=models.PROTECT, null=True, related_name="+")
    decision = models.CharField(max_length=8, choices=DecisionValue)
    choice = models.CharField(max_length=40, blank=True)
    text = models.TextField(blank=True)
    answer = models.TextField(blank=True)
    knew_council = models.BooleanField(db_default=False)
    authors = models.JSONField(default=list)
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable(unlinked="by_user", erased="text answer", run="gate.run")

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.decision} by {self.by or 'nobody'}"

    @property
    def of_council(self) -> bool:
        return bool(self.judged_by_id) or self.decision in (DecisionValue.TURN, DecisionValue.FAIL)

    @property
    def decides(self) -> bool:
        return self.decision not in NOT_DECIDED

    @property
    def value(self) -> Any:
        return json.loads(self.answer) if self.answer else None

    def draft(self, gate: Gate) -> EntryDraft:
        facts = {"step": gate.step, "number": gate.number, "said": self.decision, "by": self.by}
        facts |= {"account": self.account} if self.account is not None else {}
        facts |= {"choice": self.choice} if self.choice else {}
        facts |= {"judged_by": str(self.judged_by_id)} if self.judged_by_id else {}
        facts |= {"knew_council": True} if self.knew_council else {}
        facts |= {"authors": self.authors} if self.authors else {}
        texts = {"text": self.text, "answer": self.answer}
        return EntryDraft(DECIDED, format_timestamp(self.made) or "", facts, texts, row=self.pk)


def title_that_fits(title: str) -> str:
    """Where it is cut one sees that; the text has all of it."""
    return title if len(title) <= TITLE_LENGTH else f"{title[: TITLE_LENGTH - 1].rstrip()}…"


def approver_name(asked: Any) -> str:
    """How a user or a group that is asked is called; empty where nobody is by name."""
    if asked is None:
        return ""
    return asked.name if isinstance(asked, Group) else asked.get_username()


def account_of_asked(asked: Any) -> str:
    """Whose name that is, however it is called by now."""
    if asked is None:
        return ""
    return f"{'group' if isinstance(asked, Group) else 'account'} {asked.pk}"


def runs_with_wrong_decisions(runs: Sequence[UUID]) -> list[tuple[UUID, str]]:
    """Whose gates stand otherwise than their decisions make them, ask others or were decided by others than is told, or
    were opened by who wrote what they ask."""
    gates = list(Gate.objects.filter(run__in=list(runs)).prefetch_related("decisions"))
    there = _accounts_there(gates)
    found = []
    for gate in gates:
        if not _stands_as_decided(gate):
            found.append((gate.run_id, f"Its gate {gate.step} stands otherwise than it was decided."))
        if any(one.decision in OPENS and one.by in one.authors for one in gate.decisions.all()):
            found.append((gate.run_id, f"Its gate {gate.step} was opened by somebody whose words it asks about."))
        if not _asks_as_told(gate, there):
            found.append((gate.run_id, f"Its gate {gate.step} asks somebody else than is told."))
        if not all(_is_of_account(one.account, one.by_user_id, there) for one in gate.decisions.all()):
            found.append((gate.run_id, f"Its gate {gate.step} was decided by another account than is told."))
    return found


def _stands_as_decided(gate: Gate) -> bool:
    """Where nobody is asked any more, nothing was decided until then."""
    comes_to = policy_state(gate.policy, gate.decisions.all(), cut=gate.cut)
    as_decided = comes_to == (GateState.PENDING if gate.state == GateState.VOID else gate.state)
    return as_decided and (gate.closed is None) == gate.pending and not (gate.hides and not gate.pending)


Accounts = tuple[set[int], set[int]]
"""Which users and which groups are still there."""


def _accounts_there(gates: Sequence[Gate]) -> Accounts:
    """Of those that gates and decisions name, and have lost: an account that is deleted leaves nothing but its name."""
    told = [one.account for gate in gates for one in gate.decisions.all() if one.account and one.by_user_id is None]
    lost = [gate.asked_account.split() for gate in gates if gate.asked_account and not _asked_ids(gate)]
    users = {int(one) for one in told if one.isdecimal()} | {int(pk) for kind, pk in lost if kind == "account"}
    groups = {int(pk) for kind, pk in lost if kind == "group"}
    return _there(get_user_model(), users), _there(Group, groups)


def _there(model: type[models.Model], keys: set[int]) -> set[int]:
    return set(model._default_manager.filter(pk__in=keys).values_list("pk", flat=True)) if keys else set()


def _asked_ids(gate: Gate) -> list[str]:
    asked = ("account", gate.asked_user_id), ("group", gate.asked_group_id)
    return [f"{kind} {pk}" for kind, pk in asked if pk is not None]


def _asks_as_told(gate: Gate, there: Accounts) -> bool:
    named = _asked_ids(gate)
    if gate.asked_account is None:
        return bool(gate.asked) or not named
    if named or not gate.asked_account:
        return named == [gate.asked_account] * bool(gate.asked_account)
    kind, _, pk = gate.asked_account.partition(" ")
    return int(pk) not in there[kind == "group"]


def _is_of_account(account: str | None, user: int | None, there: Accounts) -> bool:
    """Older rows do not say, and what no person said has none."""
    if account is None:
        return True
    if user is None:
        return not account.isdecimal() or int(account) not in there[0]
    return account == str(user)
