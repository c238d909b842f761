"""Debates and their members: submission, and the state that follows from the rows."""

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.db.models import Prefetch, Q

from engine.audit import sealing
from engine.ledger.immutability import ChangeRule, Immutable
from engine.llm import prompt_blocks
from engine.llm.own_words import repeated
from engine.llm.providers import is_rehearsal, provider_lane
from engine.models import Document, ModelCall, NewDocument, Run, after_deadlock, record_name, requester_name
from engine.models.budgets import Budget
from engine.models.child_runs import NO_OTHER_OWNER
from engine.text.invisible_chars import visible_text
from engine.text.search_terms import index_words, label_term
from runs.models import PresetUse, SearchText, initial_labels
from runs.rights import SEE, RunRight, User
from runs.row_queries import with_run

from .. import prompts
from ..estimate import DebateEstimate, estimate, tokens_of
from ..prompts.wording import join_names
from ..rules import state as rules
from ..rules.outcome import DebateOutcome, DecisionRule, outcome_of
from .constants import (
    MEANING_LENGTH,
    MOST_MEMBERS,
    NAME_LENGTH,
    QUESTION_LENGTH,
    WHO_LENGTH,
    WORD_LENGTH,
    HistoryView,
    MemberDict,
    OptionDict,
    OptionDirection,
    SwitchDict,
)
from .presets import PanelVersion


class DebateOption(models.Model):
    debate = models.ForeignKey("debates.Debate", on_delete=models.PROTECT, related_name="options")
    number = models.PositiveSmallIntegerField()
    word = models.CharField(max_length=WORD_LENGTH)
    meaning = models.CharField(max_length=MEANING_LENGTH, blank=True)
    direction = models.CharField(max_length=10, choices=OptionDirection, default=OptionDirection.BETWEEN)
    immutable = Immutable(erased="meaning", run="debate")

    class Meta:
        db_table = "debates_option"
        default_permissions = ()
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["debate", "number"], name="option_number"),
            models.UniqueConstraint(fields=["debate", "word"], name="option_word"),
            models.CheckConstraint(name="option_direction", condition=Q(direction__in=OptionDirection.values)),
        ]

    def __str__(self) -> str:
        return self.word


class DebateMember(models.Model):
    """A member of a debate; the timekeeper has seat 0."""

    debate = models.ForeignKey("debates.Debate", on_delete=models.PROTECT, related_name="members")
    seat = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=20, default=rules.MessageKind.MEMBER.value)
    name = models.CharField(max_length=NAME_LENGTH)
    who = models.TextField(max_length=WHO_LENGTH, blank=True)
    model = models.CharField(max_length=200, blank=True)
    fallback = models.CharField(max_length=200, blank=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="seats")
    user_name = models.CharField(max_length=150, blank=True)
    immutable = Immutable(unlinked="user", erased="who", run="debate")

    class Meta:
        db_table = "debates_member"
        default_permissions = ()
        ordering = ["seat"]
        constraints = [
            models.UniqueConstraint(fields=["debate", "seat"], name="member_seat"),
            models.UniqueConstraint(fields=["debate", "name"], name="member_name"),
            models.UniqueConstraint(fields=["debate", "user"], name="member_user"),
            models.CheckConstraint(name="member_seat_known", condition=Q(seat__lte=MOST_MEMBERS)),
            models.CheckConstraint(name="member_kind_known", condition=Q(kind__in=[str(kind) for kind in rules.TURNS])),
            models.CheckConstraint(
                name="member_is_somebody",
                condition=~Q(model="", user_name="") | Q(kind=rules.MessageKind.TIMEKEEPER.value),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_person(self) -> bool:
        """Return whether a person has this seat, even if the account is gone."""
        return bool(self.user_name)


FINAL = (Run.Status.FINISHED, Run.Status.CANCELLED)


def may_go_on(run: str) -> Q:
    """Return the condition that a run may continue: it has not ended, or it failed and can be retried, as nobody
    has overridden it and its texts are not erased. `run`: the lookup prefix."""
    return ~Q(**{f"{run}status__in": FINAL}) & Q(**{f"{run}override": None, f"{run}redacted": None})


@dataclass(frozen=True)
class DebateKeys:
    """Values behind the foreign keys of a debate's rows: seats of members, numbers of turns, words of options."""

    seats: Mapping[int, int]
    turns: Mapping[int, int]
    words: Mapping[int, str]


class DebateQuerySet(models.QuerySet["Debate"]):
    def within(self, right: RunRight, user: User) -> "DebateQuerySet":
        """Return the debates that `right` permits this user to access."""
        return right.within(self, user, "run__owner_id")

    def visible_to(self, user: User) -> "DebateQuerySet":
        return self.within(SEE, user)

    def with_messages(self) -> "DebateQuerySet":
        """Load everything that the rules use, in a number of queries that does not grow with the debate."""
        lists = (
            "options",
            "members__user",
            "members__first__verdict",
            "turns__member",
            "messages__member",
            "messages__points",
            "steers",
            "run__documents",
        )
        return self.select_related("run").prefetch_related(*lists)

    def with_members(self) -> "DebateQuerySet":
        """Load everything that a page shows."""
        calls = Prefetch("run__calls", ModelCall.objects.order_by("pk").defer("prompt", "answer"))
        return (
            with_run(self)
            .select_related("panel_version__panel", "run__fork")
            .prefetch_related(
                *(
                    "options",
                    "members__user",
                    "members__first",
                    "turns",
                    "steers",
                    "run__documents",
                ),
                calls,
                self.with_entry_rows(),
                "messages__points",
            )
        )

    def with_entry_rows(self) -> Prefetch:
        """Prefetch the messages that everyone may read by now."""
        messages: Any = self.model.messages.rel.related_model
        return Prefetch("messages", messages.objects.with_entry_rows())

    @after_deadlock
    @transaction.atomic
    def submit(
        self,
        *,
        owner: Any,
        question: str,
        options: Sequence[OptionDict],
        members: Sequence[MemberDict],
        title: str = "",
        timekeeper: str = "",
        rule: str = DecisionRule.MAJORITY,
        most: int = rules.USUAL_MOST,
        spend: int | None = None,
        until: Any = None,
        reply_within: int | None = 24,
        view: str = HistoryView.PERSPECTIVE,
        switches: SwitchDict | None = None,
        word: str = "",
        seed: bytes | None = None,
        documents: Sequence[NewDocument] = (),
        panel: PanelVersion | None = None,
        earlier: "Debate | None" = None,
        request: str = "",
        made_by: Mapping[str, Any] = NO_OTHER_OWNER,
        carry: "Callable[[Debate], None] | None" = None,
    ) -> "Debate":
        """Queue a debate: its run, row, options, members and the audit log entry, in one transaction.

        `timekeeper`: the model that words its notes; empty for the stated sentences. `spend`: billionths of a US
        dollar. `reply_within`: hours. `seed`: 32 bytes, to repeat a debate; otherwise it is drawn, and with a user's
        `word` it is SHA-256 of the drawn bytes and the word. `panel`: the version that the values came from. The
        debate is attributed to it if they are unchanged; raises PanelChanged if they are but the panel has a newer
        version. `carry`: writes the rows that are copied from `earlier`.

        Raises BudgetExceeded if a budget has less left than the estimated cost.
        """
        same = {"options": options, "members": members, "timekeeper": timekeeper, "rule": rule, "view": view}
        panel = _borne(panel, {**same, "switches": switches})
        read = tokens_of(question, documents)
        reserved = Budget.objects.reserve(owner, _set_aside(read, members, timekeeper, most, spend))
        random, seed = _seeded(seed, word)
        models_asked = [one["model"] for one in members if one.get("model")]
        run = Run.objects.create(
            procedure="debate",
            **requester_name(owner, made_by),
            lane=provider_lane([*models_asked, *filter(None, [timekeeper])]),
            title=title.strip() or _title_of(question),
            spend=spend,
            request=request,
            **reserved,
        )
        debate = self.create(
            run=run,
            question=question,
            rule=rule,
            most=most,
            until=until,
            reply_within=reply_within,
            view=view,
            seed=seed.hex(),
            seed_random=random.hex() if random else "",
            seed_word=word,
            boundary=prompt_blocks.random_boundary(),
            prompt_version=prompts.VERSION,
            panel_version=panel,
            earlier=earlier,
            **(switches or {}),
        )
        DebateOption.objects.bulk_create(
            DebateOption(debate=debate, number=n, **one) for n, one in enumerate(options, 1)
        )
        keeper = DebateMember(
            debate=debate, seat=0, kind=rules.MessageKind.TIMEKEEPER, name="Timekeeper", model=timekeeper
        )
        seated = (
            DebateMember(debate=debate, seat=seat, user_name=record_name(one.get("user")), **one)
            for seat, one in enumerate(members, 1)
        )
        DebateMember.objects.bulk_create([keeper, *seated])
        Document.objects.attach(run, documents)
        if carry:
            carry(debate)
        SearchText.objects.create(run=run, words=" ".join(debate.preview(members)))
        if panel:
            PresetUse.objects.create(
                run=run, shelf="panel", key=panel.panel_id, owner=owner, rehearsal=_is_rehearsal(members)
            )
        sealing.record_submission(debate.pk)
        return debate


def _borne(panel: PanelVersion | None, asked: Mapping[str, Any]) -> PanelVersion | None:
    """Return the panel version that the debate is attributed to, locked until the transaction ends."""
    if panel is None or not panel.has(asked):
        return None
    panel.hold()
    return panel


def _is_rehearsal(members: Sequence[MemberDict]) -> bool:
    return any(is_rehearsal(one.get("model", "")) for one in members)


def _set_aside(read: int, members: Sequence[MemberDict], timekeeper: str, most: int, spend: int | None) -> int | None:
    expected = estimate(read, members, timekeeper, most).cost
    return spend if expected is None or (spend is not None and spend < expected) else expected


def _seeded(seed: bytes | None, word: str) -> tuple[bytes, bytes]:
    """Return the drawn bytes, empty without a word, and the seed."""
    drawn = seed or secrets.token_bytes(32)
    return (drawn, hashlib.sha256(drawn + word.encode()).digest()) if word else (b"", drawn)


def _title_of(question: str) -> str:
    first = next((line.strip() for line in question.splitlines() if line.strip()), "")
    return first if len(first) <= 80 else f"{first[:79].rstrip()}…"


class Debate(models.Model):
    """Members argue about one question. The title, life cycle and outcome are in its run; its state follows from
    its rows (`state`). `seed` and its origin are recorded; nobody may read them before the end."""

    run = models.OneToOneField(Run, on_delete=models.PROTECT, primary_key=True, related_name="debate")
    question = models.TextField(max_length=QUESTION_LENGTH)
    panel_version = models.ForeignKey(PanelVersion, on_delete=models.PROTECT, null=True, related_name="debates")
    earlier = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="later")
    rule = models.CharField(max_length=20)
    most = models.PositiveSmallIntegerField(default=rules.USUAL_MOST)
    until = models.DateTimeField(null=True)
    reply_within = models.PositiveIntegerField(null=True)
    reply = models.BooleanField(default=True)
    call = models.BooleanField(default=True)
    challenge = models.BooleanField(default=True)
    first = models.BooleanField(default=True)
    free_floor = models.BooleanField(default=False)
    advisory = models.BooleanField(default=False, db_default=False)
    view = models.CharField(max_length=20, choices=HistoryView, default=HistoryView.PERSPECTIVE)
    seed = models.CharField(max_length=64)
    seed_random = models.CharField(max_length=64, blank=True)
    seed_word = models.CharField(max_length=200, blank=True)
    boundary = models.CharField(max_length=32)
    prompt_version = models.CharField(max_length=20)
    no_decision = models.CharField(max_length=20, blank=True)
    ended_because = models.CharField(max_length=20, blank=True)

    record_hash: str | None = None  # of the newest entry of an ended run, if read by `with_members()`

    objects = DebateQuerySet.as_manager()
    immutable = Immutable(
        erased="question seed_word",
        rules=(
            ChangeRule("closing", when="OLD.ended_because <> ''", kept="ended_because"),
            ChangeRule("ended", when="OLD.no_decision <> ''", kept="no_decision"),
        ),
        run="run",
    )

    class Meta:
        default_permissions = ()
        permissions = (("look_at_firsts", "Can look at what members said alone while a person has a seat"),)
        constraints = [
            models.CheckConstraint(
                name="debate_most", condition=Q(most__gte=rules.LEAST_MOST, most__lte=rules.MOST)
            ),
            models.CheckConstraint(
                name="debate_rule_known", condition=Q(rule__in=[str(rule) for rule in DecisionRule])
            ),
            models.CheckConstraint(name="debate_view_known", condition=Q(view__in=HistoryView.values)),
        ]  # fmt: skip

    def __str__(self) -> str:
        return visible_text(self.run.shown_title)

    @property
    def calls(self) -> list[ModelCall]:
        return list(self.run.calls.all())

    @property
    def members_by_seat(self) -> Sequence[DebateMember]:
        """Members and timekeeper, by seat."""
        return sorted(self.members.all(), key=lambda one: one.seat)

    @property
    def seated(self) -> Sequence[DebateMember]:
        """Members with a verdict, by seat."""
        return [member for member in self.members_by_seat if member.kind == rules.MessageKind.MEMBER]

    @cached_property
    def words(self) -> Mapping[int, str]:
        """Words of the options by primary key; they never change."""
        return {option.pk: option.word for option in self.options.all()}

    @property
    def keys(self) -> DebateKeys:
        seats = {member.pk: member.seat for member in self.members.all()}
        return DebateKeys(seats, {turn.pk: turn.number for turn in self.turns.all()}, self.words)

    @property
    def with_person(self) -> bool:
        return any(member.is_person for member in self.members.all())

    @property
    def rehearsal(self) -> bool:
        return any(is_rehearsal(member.model) for member in self.seated)

    @property
    def rehearsal_sentence(self) -> str:
        """Return the sentence that names the rehearsed members; empty if there are none."""
        rehearsed = [member.name for member in self.seated if is_rehearsal(member.model)]
        if not rehearsed:
            return ""
        if len(rehearsed) == len(self.seated):
            return "No model was asked: all that is said follows a stated rule."
        return f"No model was asked for {join_names(rehearsed)}: what they say follows a stated rule."

    def state(self, claim: int = 0, *, affords: bool = True, late: bool = False) -> rules.DebateState:
        """Return the state that the rules use. `claim`: the run's current one."""
        keys = self.keys
        messages = sorted(self.messages.all(), key=lambda one: one.number)
        return rules.DebateState(
            settings=self.settings,
            seats=[rules.SeatState(one.seat, one.name, one.kind, one.is_person) for one in self.members_by_seat],
            firsts=[
                rules.FirstStatement(one.seat, one.first.said_in(keys))
                for one in self.members_by_seat
                if hasattr(one, "first")
            ],
            turns=[turn.seen(keys) for turn in sorted(self.turns.all(), key=lambda one: one.number)],
            messages=[message.seen(keys) for message in messages],
            steers=[steer.seen(keys) for steer in sorted(self.steers.all(), key=lambda one: one.number)],
            because=self.ended_because,
            claim=claim,
            series=self.run.retries,
            affords=affords,
            late=late,
        )

    @cached_property
    def shown_state(self) -> rules.DebateState:
        """State of rows that were read to be shown; cached, because pages use it often."""
        return self.state()

    @property
    def settings(self) -> rules.DebateSettings:
        return rules.DebateSettings(
            options=tuple(option.word for option in sorted(self.options.all(), key=lambda one: one.number)),
            rule=self.rule,
            seed=bytes.fromhex(self.seed),
            most=self.most,
            reply=self.reply,
            call=self.call,
            challenge=self.challenge,
            first=self.first,
            free_floor=self.free_floor,
        )

    def at_seat(self, seat: int) -> DebateMember:
        return next(one for one in self.members.all() if one.seat == seat)

    def option_called(self, word: str) -> DebateOption | None:
        return next((option for option in self.options.all() if option.word == word), None)

    @property
    def repeated(self) -> dict[int, int]:
        """Map the number of each repeated message to the earlier message, of any member, with the same words."""
        of_members = (rules.StatementKind.SAID, rules.StatementKind.CLOSING)
        return repeated({one.number: one.content for one in self.messages.all() if one.kind in of_members})

    def result(self, course: rules.DebateState) -> DebateOutcome:
        """Return the outcome of the current verdicts by the debate's rule."""
        verdicts = [course.verdict_of.get(one.seat, "") for one in course.voters]
        return outcome_of(self.rule, course.settings.options, verdicts)

    def estimate(self) -> DebateEstimate:
        """Estimate the cost of the whole debate, as if nothing had been asked yet."""
        asked = [vars(member) for member in self.seated]
        return estimate(self.read, asked, self.at_seat(0).model, self.most)

    @property
    def read(self) -> int:
        """Tokens of what every member reads first."""
        return tokens_of(self.question, self.run.documents.all())

    def preview(self, members: Sequence[MemberDict]) -> list[str]:
        """Return the search terms that are known on submission."""
        labels = [*initial_labels(self.run), label_term("rehearsal", _is_rehearsal(members))]
        if self.panel_version:
            labels.append(label_term("panel", self.panel_version.panel_id))
        names = " ".join(one["name"] for one in members)
        return [*labels, *index_words(f"{self.run.title}\n{self.question}\n{names}")]
