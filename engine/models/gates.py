"""Gates: points at which a run waits until somebody has decided about exactly this text.

Why so: engine/DESIGN.md, Gates.
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

DECIDE_PERMISSION = "engine.decide_gate"  # at the gates of all users
TITLE_LENGTH = 200  # characters
DECIDED_BY_TIME = ""  # name and account of a decision by expiry


class GateState(models.TextChoices):
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    ANSWERED = "answered"
    EXPIRED = "expired"
    FAILED = "failed"
    VOID = "void"


class DecisionValue(models.TextChoices):
    """Kinds of decisions at a gate.

    OVERRIDE approves what a council has rejected. LOOK records that a person has seen a council's decision before it
    was shown. EXPIRE is recorded when the time is over. If a council's run has failed, TURN hands the decision to
    people, and FAIL closes the gate as failed.
    """

    APPROVE = "approve"
    REJECT = "reject"
    ANSWER = "answer"
    OVERRIDE = "override"
    LOOK = "look"
    EXPIRE = "expire"
    TURN = "turn"
    FAIL = "fail"


NOT_DECIDED = (DecisionValue.LOOK, DecisionValue.TURN)  # recorded without deciding anything
OPENS = (DecisionValue.APPROVE, DecisionValue.OVERRIDE)
DECIDED_STATES = (DecisionValue.APPROVE, DecisionValue.REJECT, DecisionValue.ANSWER)


class GateAlreadyUsed(Exception):
    """The gate's decision has been used already, or is no longer valid."""


class GateQuerySet(models.QuerySet["Gate"]):
    def with_decisions(self) -> Self:
        decisions = models.Prefetch("decisions", GateDecision.objects.select_related("judged_by"))
        return self.select_related("run", "council", "asked_user", "asked_group").prefetch_related(decisions)

    def listed(self) -> Self:
        """With the rows that lists show, and those that say who may decide."""
        return self.select_related("run").prefetch_related("decisions")

    def pending(self) -> Self:
        """Undecided gates of runs that have not ended."""
        return self.filter(run_is_active(), state=GateState.PENDING)

    def for_user(self, user: Any) -> Self:
        """Pending gates that wait for this user: named, in a named group, or owner of the run.

        Gates at which the user has decided are left out, unless a council has rejected since. A gate that names nobody
        and needs four eyes waits for all users with DECIDE_PERMISSION.
        """
        return self.for_single_user(user, decides=user.has_perm(DECIDE_PERMISSION))

    def for_single_user(self, user: Any, *, decides: bool) -> Self:
        """As `for_user`; `decides`: the user has DECIDE_PERMISSION."""
        here = Q(run_condition(owner=user)) | (Q(policy__four_eyes=True) if decides else Q())
        asked = self.pending().filter(decidable_by(user) | asked_by_permission() & here)
        return asked.exclude(council_only() | Q(policy__four_eyes=True) & written_by(user) | decided_by(user))

    def decidable_by_others(self, user: Any) -> Self:
        """Pending gates of this user's runs that wait for somebody else: those that `for_user` leaves out."""
        named = ~(decidable_by(user) | asked_by_permission())
        others = named | council_only() | Q(policy__four_eyes=True) | decided_by(user)
        return self.filter(others, run_condition(status__in=ACTIVE_STATUSES, owner=user), state=GateState.PENDING)

    def not_for_author(self, user: Any) -> Self:
        """Gates that need four eyes and whose run or text is by this user, who therefore may not decide."""
        return self.filter(written_by(user), policy__four_eyes=True)

    def asking_persons(self) -> Self:
        """Without gates that a council decides alone, while its run can still succeed."""
        return self.exclude(council_only())

    def hidden_from_user(self, user: Any) -> Self:
        """Gates whose council's decision is still hidden from this user, who has not recorded a look."""
        looked = GateDecision.objects.filter(by_user=user, decision=DecisionValue.LOOK).values("gate")
        return self.filter(hides=True).exclude(pk__in=looked)

    def hidden(self) -> models.QuerySet["Gate", Any]:
        """Primary keys of the council runs that are still hidden."""
        return self.filter(hides=True).order_by().values_list("council", flat=True)

    def decidable_by(self, user: Any) -> Self:
        """Gates that ever named this user or a group of theirs, who may therefore see the runs."""
        return self.filter(decidable_by(user))

    def asked_user_keys(self) -> set[Any]:
        """Primary keys of the named users and of all members of the named groups."""
        users = self.order_by().values_list("asked_user", flat=True)
        members = Group.objects.filter(pk__in=self.values("asked_group")).values_list("user", flat=True)
        return set(users.union(members)) - {None}

    def newest(self, run: UUID, step: str) -> "Gate | None":
        return self.with_decisions().filter(run=run, step=step).order_by("-number").first()

    def newest_of_all(self) -> int:
        """The largest primary key of all gates, 0 without gates; newer gates have larger ones."""
        return self.order_by("-pk").values_list("pk", flat=True).first() or 0

    def open(self, before: "Gate | None", **values: Any) -> "Gate":
        """Create a gate, and void the gate `before` of the same step.

        Called in a transaction of the run's worker. Records the event for webhooks.
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
        """Withdraw pending gates; return their number."""
        return self.filter(state=GateState.PENDING).update(state=GateState.VOID, closed=timezone.now(), hides=False)

    def expire(self, gate: "Gate", now: datetime) -> None:
        """Close a gate whose time is over, unless somebody has decided meanwhile.

        Called in a transaction of the run's worker.
        """
        decision = DecisionValue.REJECT if gate.policy["expiry"] == REJECT else DecisionValue.EXPIRE
        state = GateState.REJECTED if decision == DecisionValue.REJECT else GateState.EXPIRED
        due = self.filter(pk=gate.pk, state=GateState.PENDING, expires__lte=now)
        if due.update(state=state, closed=timezone.now(), hides=False):
            GateDecision.objects.create(gate=gate, by=DECIDED_BY_TIME, account=DECIDED_BY_TIME, decision=decision)

    def drafts(self, runs: Iterable[UUID]) -> list[tuple[UUID, EntryDraft]]:
        """Entries of gates, uses and decisions of these runs, each kind in the order of its rows."""
        gates = {gate.pk: gate for gate in self.filter(run__in=list(runs)).order_by("pk")}
        decisions = GateDecision.objects.filter(gate__in=gates).order_by("pk") if gates else []
        asked = [(gate.run_id, gate.draft()) for gate in gates.values()]
        used = [(gate.used, pk, gate) for pk, gate in gates.items() if gate.used and gate.asked_account is not None]
        asked += [(gate.run_id, gate.use_draft()) for _, _, gate in sorted(used, key=itemgetter(0, 1))]
        return asked + [(gates[one.gate_id].run_id, one.draft(gates[one.gate_id])) for one in decisions]

    def erase(self, run: UUID) -> None:
        self.filter(run=run).update(title="", text="")
        GateDecision.objects.filter(gate__run=run).update(text="", answer="")


IN_ORDER = (IsNull(F("expires"), True), "expires", "made", "id")  # matches an index, so that nothing is sorted


def ordered_gates(gates: GateQuerySet) -> GateQuerySet:
    """Sort by expiry, gates without one last, then by age."""
    return gates.order_by(*IN_ORDER)


class Gate(models.Model):
    """One decision for which a run waits.

    kind: the procedure's word for it
    step: place in the run
    number: counts the gates of a step, from 1: each with another text or other approvers
    whole: SHA-256 (hex) of the whole text if `text` was shortened, else empty; `text` then says what is missing
    policy: see `engine.policy.policy_of`
    choices: dicts with `word`, `decision` and `sentence` (of the button)
    effect: effect of what is asked for
    council: the run that was started to decide
    hides: the council's decision is not shown yet
    when_failed: what happens if the council's run fails: `person` or `tell`
    asked: name of the user or group at that time; empty for the run's owner and users with DECIDE_PERMISSION
    asked_account: key of that user or group; None in old rows, whose uses are not in the record
    used: when what it allowed was begun
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
        """Whether the gate is a question and has nothing to approve."""
        named = {one["decision"] for one in self.choices}
        return DecisionValue.ANSWER in named and DecisionValue.APPROVE not in named

    @property
    def is_decided(self) -> bool:
        """Whether the decision is still valid.

        A council's decision is not if its run was overridden or redacted since, or was a rehearsal.
        """
        judged = next((one.judged_by for one in self.decisions.all() if one.judged_by_id), None)
        overridden = any(one.decision == DecisionValue.OVERRIDE for one in self.decisions.all())
        if judged is None or overridden:
            return True
        if was_rehearsed(judged) and not is_only_rehearsal(
            self.run
        ):  # old decisions may be from before rehearsals were refused
            return False
        return judged.override is None and judged.redacted is None

    @property
    def is_acknowledged(self) -> bool:
        """Whether the result of the council's run is recorded, also a failure."""
        return any(one.of_council for one in self.decisions.all())

    @property
    def is_split(self) -> bool:
        """Whether a council has rejected a pending gate, so that people must reject, too, or override."""
        return self.pending and decisions_conflict(self.policy, self.decisions.all())

    def looked_user_keys(self) -> set[Any]:
        """Primary keys of the users who have seen the council's decision before it was shown."""
        looked = GateDecision.objects.filter(gate=self, decision=DecisionValue.LOOK)
        return set(looked.values_list("by_user", flat=True))

    @property
    def needs_people(self) -> bool:
        return asks_persons(self.policy, self.decisions.all())

    @property
    def cut(self) -> bool:
        """Whether the text is shortened."""
        return bool(self.whole)

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the text, for display and for the check that the shown text was decided about."""
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
        """The procedure's own word of the last decision; may be empty."""
        return self.last_decision.choice if self.last_decision else ""

    @property
    def words(self) -> str:
        return self.last_decision.text if self.last_decision else ""

    @property
    def answer(self) -> Any:
        return self.last_decision.value if self.last_decision else None

    def permits(self, text: str, whole: str, asked: Any) -> bool:
        """Whether it is the gate for this text and these approvers, and neither used, void nor invalid."""
        gone = self.used or self.state == GateState.VOID or (self.approved and not self.is_decided)
        return not gone and self.is_about(text, whole, asked)

    def is_about(self, text: str, whole: str, asked: Any) -> bool:
        """Whether it has this text and these approvers."""
        group = isinstance(asked, Group)
        ids = (None if group or asked is None else asked.pk, asked.pk if group else None)
        same = (self.asked_user_id, self.asked_group_id) == ids  # names can be reused by other accounts
        return same and (self.text, self.whole, self.asked) == (text, whole, approver_name(asked))

    def consume(self) -> None:
        """Use the decision up, in the transaction that acts on it. Raises GateAlreadyUsed."""
        if self.approved and not Gate.objects.with_decisions().get(pk=self.pk).is_decided:
            raise GateAlreadyUsed(f"{self}: its council was decided otherwise")
        # the record sorts uses by time, and clocks of hosts differ, so times within a run must increase
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
    """A decision at a gate, by a person, a council or expiry.

    by: name of the person at that time
    account: key of the account; empty if no person decided, None in old rows
    judged_by: the council's run
    answer: JSON; may be empty
    knew_council: the person had been shown the council's decision
    authors: names of the authors of the text, if four eyes are needed
    """

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
    """The title, shortened with an ellipsis to TITLE_LENGTH; the gate's text has all of it."""
    return title if len(title) <= TITLE_LENGTH else f"{title[: TITLE_LENGTH - 1].rstrip()}…"


def approver_name(asked: Any) -> str:
    """The name of the user or group; empty if none is named."""
    if asked is None:
        return ""
    return asked.name if isinstance(asked, Group) else asked.get_username()


def account_of_asked(asked: Any) -> str:
    """The key of the user or group, which stays the same after a rename; empty if none is named."""
    if asked is None:
        return ""
    return f"{'group' if isinstance(asked, Group) else 'account'} {asked.pk}"


def runs_with_wrong_decisions(runs: Sequence[UUID]) -> list[tuple[UUID, str]]:
    """Pairs of run and fault of gates that do not match their rows.

    Faults are: a state that does not follow from the decisions, approvers or deciding accounts that differ from the
    recorded ones, and approvals by an author of the text where four eyes are needed.
    """
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
    """Whether the state follows from the decisions; a void gate must have been pending."""
    comes_to = policy_state(gate.policy, gate.decisions.all(), cut=gate.cut)
    as_decided = comes_to == (GateState.PENDING if gate.state == GateState.VOID else gate.state)
    return as_decided and (gate.closed is None) == gate.pending and not (gate.hides and not gate.pending)


Accounts = tuple[set[int], set[int]]
"""Primary keys of users and of groups that still exist."""


def _accounts_there(gates: Sequence[Gate]) -> Accounts:
    """Accounts that gates and decisions no longer reference and that exist: a deleted account must not exist."""
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
    """Whether the recorded account matches the reference; old rows have None."""
    if account is None:
        return True
    if user is None:
        return not account.isdecimal() or int(account) not in there[0]
    return account == str(user)
