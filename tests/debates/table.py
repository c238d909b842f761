"""A debate as its rows say it is: everybody says what a test wants, and the rest follows from the rules."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from debates import human_turns
from debates.models import Debate, DebateMember, DebateMessage, DebateTurn, FirstVerdict, SteeringAction, writes
from debates.models.context_builder import build_prompt_context
from debates.prompt_context import PromptArtifact, PromptPoint
from debates.prompts import DebateAnswer, facts_in
from debates.rules import state as rules
from debates.rules import turn_taking
from debates.rules.state import MemberStatus, NoteKind, StatementKind, SteeringKind, TurnReason
from engine.models import Gate, ModelCall, Run
from engine.policy import parse_policy
from runs.procedure.spec import RunSnapshot
from runs.procedure.wait_reason import gates_of
from tests.conftest import submitted_at

SEED = bytes(range(32))
OPTIONS: Sequence[Mapping[str, str]] = (
    {"word": "HIRE", "meaning": "An offer for the permanent post.", "direction": "for"},
    {"word": "HIRE ON CONDITIONS", "meaning": "An offer with clauses.", "direction": "between"},
    {"word": "DO NOT HIRE", "meaning": "No offer.", "direction": "against"},
)
PANEL = (
    ("Amara Osei", "Methods. You look at how results came about."),
    ("Ilse Brandt", "Leadership. You look at how groups are led."),
    ("Rajiv Menon", "Team and teaching."),
    ("Hana Kubo", "Instruments and software."),
    ("Tomás Rey", "Budget and risk."),
    ("Edda Holm", "Law."),
    ("Gita Rao", "Ethics."),
    ("Hugo Blanc", "Buildings."),
    ("Ivy Tran", "The newcomer."),
)
QUESTION = (
    "Should the institute offer Dr. Lindqvist the permanent post, with a staff of eleven and the two new microscopes? "
    "Her letter asks for a start in March and half a year without teaching."
)
TITLE = "Dr. Mira Lindqvist as head of the imaging laboratory"
BEGINNING = datetime(2026, 11, 21, 14, 1, tzinfo=UTC)


def asked(number: int = 5, *, model: str = "openai/a", **more: Any) -> dict[str, Any]:
    """What `Debate.objects.submit` takes of a panel of so many."""
    members = [{"name": name, "who": who, "model": model} for name, who in PANEL[:number]]
    told = {"title": TITLE, "question": QUESTION, "options": OPTIONS, "members": members, "seed": SEED}
    return told | more


class Table:
    """A debate that is at work. Members are called by their seats, and each thing happens ten seconds after the one
    before."""

    def __init__(self, owner: Any, number: int = 5, **more: Any) -> None:
        with submitted_at(BEGINNING):
            self.debate = Debate.objects.submit(owner=owner, **asked(number, **more))
        self._seconds = 0
        Run.objects.filter(pk=self.pk).update(status=Run.Status.RUNNING, started=BEGINNING, claims=1)

    @property
    def pk(self) -> Any:
        return self.debate.pk

    @property
    def row(self) -> Debate:
        """As it is now, with all that a page shows."""
        return Debate.objects.with_members().get(pk=self.pk)

    def seen(self, **texts: str) -> RunSnapshot[Debate]:
        """`texts` are growing now, by steps with an underscore in place of the hyphen."""
        row = self.row
        grown = {step.replace("_", "-"): text for step, text in texts.items()}
        return RunSnapshot(row.run, row, row.calls, grown, gates=gates_of(self.pk))

    @property
    def course(self) -> rules.DebateState:
        return Debate.objects.with_messages().get(pk=self.pk).state(claim=2)

    @property
    def newest(self) -> int:
        return self.debate.messages.count()

    @property
    def said(self) -> int:
        """The number of what a member said last."""
        return (
            self.debate.messages.filter(kind=StatementKind.SAID).order_by("-number").values_list("number", flat=True)[0]
        )

    # ---- what happens --------------------------------------------------------------------------------------

    def alone(self, seat: int, verdict: str, reasoning: str = "For reasons of its own.", confidence: int = 70) -> None:
        said = DebateAnswer(verdict=verdict, reasoning=reasoning, confidence=confidence)
        with self._later():
            writes.save_first_verdict(self.pk, seat, self.call(f"first-{seat}"), said)

    def note(self, words: str = "") -> None:
        """The one that is due; the opening where there is none yet."""
        course = self.course
        due = (
            NoteKind.OPENING
            if not course.notes
            else NoteKind.DEADLINE
            if course.clock % rules.SPAN == 0
            else NoteKind.REMINDER
        )
        with self._later():
            writes.save_note(self.pk, due, course.clock, facts_in(course).told, words, claim=1)

    def open(self, seat: int | None = None, why: str = "", asked_by: int | None = None, **told: Any) -> DebateTurn:
        """The floor, given to whoever has it next by the rules, or to somebody."""
        if seat is None:
            given = turn_taking.next_step(self.course)
            assert isinstance(given, turn_taking.GiveTurn), given
            turn = given.turn
        else:
            drawn = {"weights": tuple((one.seat, 1) for one in self.debate.seated), "ticket": 0} if not why else {}
            known = {"asked_by": asked_by, **drawn, **told}
            turn = rules.TurnState(self.debate.turns.count() + 1, seat, why or TurnReason.DRAW, self.newest, **known)
        return self._give(turn)

    def _give(self, turn: rules.TurnState) -> DebateTurn:
        with self._later():
            writes.save_turn(self.pk, turn)
        return DebateTurn.objects.get(debate=self.pk, number=turn.number)

    def say(self, seat: int | None = None, content: str = "That is one way to see it.", **said: Any) -> DebateMessage:
        """In the turn that is open, or in one of its own; and what the clock asks for after it."""
        given = {key: said.pop(key) for key in ("why", "asked_by") if key in said}
        kept = {key: said.pop(key) for key in ("continues", "calls", "cut") if key in said}
        turn = self.opened or self.open(seat, **given)
        kept.setdefault("calls", [self.call(turn.step).pk])
        with self._later():
            message = writes.save_message(self.pk, turn.number, DebateAnswer(content, **said), heard=turn.after, **kept)
        if message.clock and message.clock % rules.REMINDER_EVERY == 0:
            self.note()
        return message

    def wait(self, turn: DebateTurn, person: Any) -> Gate:
        """For a person who has the floor, from now on: the time to answer is the real one."""
        debate, course = self.row, self.course
        given = next(one for one in course.turns if one.number == turn.number)
        text = human_turns.text_of(
            build_prompt_context(Debate.objects.with_messages().get(pk=self.pk), course), given, None
        )
        asked = {"title": human_turns.gate_title(debate), "text": text}
        known = {
            "policy": parse_policy(human_turns.policy_of(debate)),
            "choices": list(human_turns.CHOICES),
            "asked_user": person,
        }
        run = {"run_id": self.pk, "step": turn.step, "kind": human_turns.KIND, "asked": person.get_username()}
        return Gate.objects.open(None, **run, **asked, **known)

    def skip(self, reason: str = "could not speak: 401 The key was refused.") -> None:
        turn = self.opened
        assert turn
        with self._later():
            writes.save_skip(self.pk, turn.number, reason)

    def chair(self, content: str, to: Sequence[int] = ()) -> DebateMessage:
        number = self.newest + 1
        told = {"kind": StatementKind.CHAIR, "by_name": "M. Okafor", "content": content, "speaking_to": list(to)}
        with self._later():
            return DebateMessage.objects.create(debate=self.debate, number=number, **told)

    def steer(self, act: SteeringKind, seat: int | None = None, amount: int = 0, **told: Any) -> SteeringAction:
        member = DebateMember.objects.get(debate=self.debate, seat=seat) if seat else None
        number = self.debate.steers.count() + 1
        known = {"by_name": "M. Okafor", "act": act, "member": member, "amount": amount}
        with self._later():
            return SteeringAction.objects.create(debate=self.debate, number=number, **known, **told)

    def close(self, because: str = turn_taking.EndReason.CLOSED) -> None:
        step = turn_taking.begin_closing(self.course, turn_taking.EndReason(because))
        assert isinstance(step, turn_taking.BeginClosing)
        with self._later():
            writes.begin_closing(self.pk, because, step.turns, known=self.course.newest_act)

    def last_word(self, seat: int, content: str = "I stand by it.", **said: Any) -> DebateMessage:
        turn = DebateTurn.objects.get(debate=self.pk, member__seat=seat, why=TurnReason.CLOSING)
        calls = [self.call(turn.step).pk]
        with self._later():
            return writes.save_message(
                self.pk, turn.number, DebateAnswer(content, **said), heard=turn.after, calls=calls
            )

    def end(self, because: str = turn_taking.EndReason.CLOSED) -> None:
        writes.conclude(self.pk, because)
        self.become(Run.Status.FINISHED, ended=self._next_moment())

    def become(self, status: str, **values: Any) -> None:
        over = {"ended": self._next_moment()} if status in (Run.Status.FAILED, Run.Status.CANCELLED) else {}
        Run.objects.filter(pk=self.pk).update(status=status, **(over | values))

    def play(self, messages: int, content: str = "The letter says more than the list of papers does.") -> None:
        """Let whoever has the floor by the rules talk until so many are said; verdicts come, and now and then move."""
        words = [option.word for option in self.debate.options.order_by("number")]
        while (course := self.course).clock < messages:
            turn = self.opened or self._next(course)
            number = turn.number
            seat = turn.member.seat
            has = seat in course.verdict_of
            moves = has and number % 17 == 0
            verdict = words[(seat + number) % len(words)] if moves or not has else ""
            others = [one.number for one in course.messages_said if one.seat != seat][-1:]
            point = PromptPoint(
                f"Claim {number} of the file", words[seat % len(words)], "for" if number % 2 else "against"
            )
            to = () if number % 3 else (1 + seat % len(self.debate.seated),)
            self.say(
                None,
                f"{content} {number}.",
                to=to,
                points=(point,),
                verdict=verdict,
                reasoning="It was said well." if verdict else "",
                moved_by=tuple(others) if moves else (),
            )

    def _next(self, course: rules.DebateState) -> DebateTurn:
        step = turn_taking.next_step(course)
        if isinstance(step, turn_taking.AddTimekeeperNote):
            self.note()
            return self._next(self.course)
        if isinstance(step, turn_taking.GiveTurn):
            return self._give(step.turn)
        return self.open(course.active[len(course.turns) % len(course.active)], why=TurnReason.CALL)

    # ---- what that takes -----------------------------------------------------------------------------------

    @property
    def opened(self) -> DebateTurn | None:
        return (
            DebateTurn.objects.filter(debate=self.pk, state=MemberStatus.OPEN).exclude(why=TurnReason.CLOSING).first()
        )

    def _next_moment(self) -> datetime:
        self._seconds += 10
        return BEGINNING + timedelta(seconds=self._seconds)

    def call(self, step: str, status: str = "answered", attempt: int = 1, **told: Any) -> ModelCall:
        """A model is asked for a step, and has answered where nothing else is said."""
        moment = self._next_moment()
        answered = {"ended": moment, "input_tokens": 900, "output_tokens": 90, "cost": 2_400_000}
        ended = (answered if status == "answered" else {}) | told | {"status": status}
        if waits := ModelCall.objects.filter(run=self.pk, step=step, status="open").first():
            ModelCall.objects.filter(pk=waits.pk).update(**ended)
            return waits
        known = {"model": "openai/a", "prompt": "[]", "deadline": moment + timedelta(minutes=2), "started": moment}
        return ModelCall.objects.create(run_id=self.pk, step=step, attempt=attempt, **(known | ended))

    def speaks(self, seat: int | None = None, **told: Any) -> str:
        """Somebody has the floor and is being asked: the step whose text may grow."""
        turn = self.open(seat, **told)
        self.call(turn.step, "open")
        return turn.step

    @contextlib.contextmanager
    def _later(self) -> Iterator[None]:
        """What is written within was written at the next moment: afterwards nothing of it may be changed."""
        moment = self._next_moment()
        made = [model._meta.get_field("made") for model in (FirstVerdict, DebateTurn, DebateMessage, SteeringAction)]
        before = [(field, field._get_default) for field in made]
        now, timezone.now = timezone.now, lambda: moment
        for field in made:
            field._get_default = lambda: moment
        try:
            yield
        finally:
            timezone.now = now
            for field, default in before:
                field._get_default = default


def weeks() -> PromptArtifact:
    """A table that is drawn, too."""
    rows = (("Consent", "5"), ("Cleaning", "2"), ("Upload", "1"))
    return PromptArtifact("Weeks until the data are public", "bars", columns=("Step", "Weeks"), rows=rows)
