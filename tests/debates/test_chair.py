"""What people do to a debate while it goes on."""

from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from debates import moderation
from debates.models import Debate, DebateMessage, DebateTurn, SteeringAction, writes
from debates.rules import state as rules
from engine.models import ModelCall, Run
from engine.models.budgets import Budget, BudgetExceeded
from runs.models import SearchText
from tests.conftest import at_once, claim

from .rows import in_closing, member, over, queued, say

pytestmark = pytest.mark.django_db


@pytest.fixture
def debate(mira: User) -> Debate:
    return queued(mira)


def refused(do: Any) -> str:
    with pytest.raises(moderation.ModerationRefused) as refusal:
        do()
    return str(refusal.value)


# ---- saying -----------------------------------------------------------------------------------------------


def test_what_the_chair_says_stands_among_the_messages(debate: Debate, mira: User):
    say(debate, 1)
    moderation.post_message(debate.pk, mira, "Let us speak of money.", to=2)
    told = DebateMessage.objects.get(debate=debate, number=2)
    assert (told.kind, told.by, told.by_name, told.speaking_to) == (rules.StatementKind.CHAIR, mira, "mira", [2])


def test_whoever_the_chair_asks_has_the_floor_next(debate: Debate, mira: User):
    moderation.post_message(debate.pk, mira, "What of the money?", to=2, ask=True)
    [steer] = SteeringAction.objects.filter(debate=debate)
    assert (steer.act, steer.member.seat, steer.done) == (rules.SteeringKind.ASK, 2, None)


def test_the_run_hears_of_it(debate: Debate, mira: User):
    before = debate.run.news
    moderation.post_message(debate.pk, mira, "Let us speak of money.")
    assert Run.objects.get(pk=debate.pk).news == before + 1


def test_it_can_be_found_by_what_the_chair_said(debate: Debate, mira: User):
    moderation.post_message(debate.pk, mira, "Let us speak of Zanzibar.")
    assert "zanzibar" in SearchText.objects.get(run=debate.pk).words.split()


def test_it_is_kept_that_the_chair_named_an_option(debate: Debate, mira: User):
    for text in ("I am for hire.", "Do  NOT hire!", "Hired?"):
        moderation.post_message(debate.pk, mira, text)
    assert [one.names_option for one in DebateMessage.objects.filter(debate=debate).order_by("number")] == [
        True,
        True,
        False,
    ]


def test_words_that_cannot_be_kept_are_refused(debate: Debate, mira: User):
    for text in ("", "  \n", "x" * 4_001, "a\x00b"):
        assert refused(partial(moderation.post_message, debate.pk, mira, text))
    assert not DebateMessage.objects.exists()


def test_the_chair_speaks_forty_times_at_most(debate: Debate, mira: User):
    kept = {"debate": debate, "kind": rules.StatementKind.CHAIR, "by_name": "mira"}
    DebateMessage.objects.bulk_create(DebateMessage(number=number, **kept) for number in range(1, 41))
    assert "40 times" in refused(partial(moderation.post_message, debate.pk, mira, "Once more."))


def test_nobody_is_asked_who_does_not_sit_there(debate: Debate, mira: User):
    for seat in (0, 4, 77):
        assert "Nobody sits there" in refused(
            partial(moderation.post_message, debate.pk, mira, "And you?", to=seat, ask=True)
        )


def test_whoever_is_silent_is_not_asked(debate: Debate, mira: User):
    moderation.apply_steering(debate.pk, mira, rules.SteeringKind.GIVE_UP, seat=2)
    assert "Ilse Brandt is silent" in refused(
        partial(moderation.post_message, debate.pk, mira, "And you?", to=2, ask=True)
    )


def test_nothing_is_said_to_a_debate_that_is_over(debate: Debate, mira: User):
    over(debate)
    assert refused(partial(moderation.post_message, debate.pk, mira, "Wait!")) == moderation.ENDED_TEXT


@pytest.mark.postgresql
def test_words_at_the_same_moment_get_numbers_without_a_gap(transactional_db: None, mira: User):
    debate = queued(mira)
    words = [partial(moderation.post_message, debate.pk, mira, f"Words number {number}.") for number in range(6)]
    assert at_once(*words, refused=moderation.ModerationRefused) == [None] * 6
    assert list(debate.messages.values_list("number", flat=True)) == [1, 2, 3, 4, 5, 6]


# ---- time -------------------------------------------------------------------------------------------------


def test_a_debate_gets_twenty_messages_more(debate: Debate, mira: User):
    for _ in range(2):
        moderation.apply_steering(debate.pk, mira, rules.SteeringKind.EXTEND)
    assert Debate.objects.with_messages().get(pk=debate.pk).state().most == 100


def test_no_debate_gets_more_than_two_hundred(mira: User):
    debate = queued(mira, most=190)
    assert "at most 200" in refused(partial(moderation.apply_steering, debate.pk, mira, rules.SteeringKind.EXTEND))


def test_time_is_given_in_steps(debate: Debate, mira: User):
    for amount in (0, -20, 7, 21):
        assert "steps of 20" in refused(
            partial(moderation.apply_steering, debate.pk, mira, rules.SteeringKind.EXTEND, amount=amount)
        )


def test_no_time_is_given_once_the_closing_has_begun(debate: Debate, mira: User):
    in_closing(debate)
    assert (
        refused(partial(moderation.apply_steering, debate.pk, mira, rules.SteeringKind.EXTEND))
        == moderation.CLOSING_TEXT
    )


@pytest.mark.parametrize(("known", "closes"), [(0, False), (1, True)])
def test_time_that_is_given_while_it_is_about_to_close_is_not_lost(
    debate: Debate, mira: User, known: int, closes: bool
):
    moderation.apply_steering(debate.pk, mira, rules.SteeringKind.EXTEND)
    last_word = rules.TurnState(1, 1, rules.TurnReason.CLOSING)
    writes.begin_closing(debate.pk, "most", [last_word], known=known)
    debate.refresh_from_db()
    assert (bool(debate.ended_because), DebateTurn.objects.exists()) == (closes, closes)


def test_more_time_sets_more_money_aside(settings: Any, mira: User):
    settings.PROVIDERS = {"paid": {"base_url": "http://127.0.0.1:9/v1", "api_key": "", "prices": {"*": (1, 1)}}}
    budget = Budget.objects.create(owner=mira, limit=10**12)
    debate = queued(mira, members=[member("A", "paid/x"), member("B", "paid/x")])
    before = Run.objects.get(pk=debate.pk).reserved
    moderation.apply_steering(debate.pk, mira, rules.SteeringKind.EXTEND)
    budget.refresh_from_db()
    assert budget.reserved == Run.objects.get(pk=debate.pk).reserved > before > 0


def test_more_time_needs_the_money_for_it(settings: Any, mira: User):
    settings.PROVIDERS = {"paid": {"base_url": "http://127.0.0.1:9/v1", "api_key": "", "prices": {"*": (1, 1)}}}
    budget = Budget.objects.create(owner=mira, limit=10**12)
    debate = queued(mira, members=[member("A", "paid/x"), member("B", "paid/x")])
    Budget.objects.filter(pk=budget.pk).update(limit=Run.objects.get(pk=debate.pk).reserved + 1)
    with pytest.raises(BudgetExceeded):
        moderation.apply_steering(debate.pk, mira, rules.SteeringKind.EXTEND)
    assert not SteeringAction.objects.exists()


# ---- closing ----------------------------------------------------------------------------------------------


CLOSED_AGAIN = (
    ("close", "close", False),
    ("close", "close_at_once", True),
    ("close", "extend", False),
    ("close_at_once", "close_at_once", False),
    ("close_at_once", "end", True),
    ("end", "close", False),
    ("end", "end", False),
)


def test_a_debate_is_closed_once_and_then_only_sooner(mira: User):
    for first, then, fits in CLOSED_AGAIN:
        debate = queued(mira)
        moderation.apply_steering(debate.pk, mira, first)
        again = partial(moderation.apply_steering, debate.pk, mira, then)
        assert (again() is None) if fits else refused(again), (first, then)


def test_who_is_just_speaking_is_dropped_where_it_closes_at_once(debate: Debate, mira: User):
    [run] = claim("an engine")
    DebateTurn.objects.create(debate=debate, number=1, member=debate.members.get(seat=1), why=rules.TurnReason.CALL)
    call = ModelCall.objects.create(run=run, step="turn-1", model="openai/a", attempt=1, deadline=timezone.now())
    moderation.apply_steering(debate.pk, mira, rules.SteeringKind.CLOSE_AT_ONCE)
    run.refresh_from_db()
    call.refresh_from_db()
    assert (run.status, run.worker, call.status) == (Run.Status.QUEUED, "", ModelCall.Status.INTERRUPTED)


def test_who_is_just_speaking_finishes_where_it_closes(debate: Debate, mira: User):
    [run] = claim("an engine")
    DebateTurn.objects.create(debate=debate, number=1, member=debate.members.get(seat=1), why=rules.TurnReason.CALL)
    moderation.apply_steering(debate.pk, mira, rules.SteeringKind.CLOSE)
    run.refresh_from_db()
    assert (run.status, run.worker) == (Run.Status.RUNNING, "an engine")


def test_a_closing_can_still_be_ended(debate: Debate, mira: User):
    moderation.apply_steering(in_closing(debate).pk, mira, rules.SteeringKind.END)
    assert SteeringAction.objects.get(debate=debate).act == rules.SteeringKind.END


# ---- members ----------------------------------------------------------------------------------------------


def test_whoever_withdrew_is_recalled_once(debate: Debate, mira: User):
    say(debate, 1, "HIRE", withdrawn=True)
    moderation.apply_steering(debate.pk, mira, rules.SteeringKind.RECALL, seat=1)
    assert "recalled once" in refused(
        partial(moderation.apply_steering, debate.pk, mira, rules.SteeringKind.RECALL, seat=1)
    )
    assert "recalled once" in refused(partial(moderation.post_message, debate.pk, mira, "And now?", to=1, ask=True))


def test_whoever_was_asked_before_it_withdrew_can_be_recalled(debate: Debate, mira: User):
    moderation.post_message(debate.pk, mira, "And you?", to=1, ask=True)
    say(debate, 1, "HIRE", withdrawn=True)
    moderation.apply_steering(debate.pk, mira, rules.SteeringKind.RECALL, seat=1)
    assert SteeringAction.objects.filter(act=rules.SteeringKind.RECALL).exists()


def test_whoever_has_not_withdrawn_is_not_recalled(debate: Debate, mira: User):
    assert "has not withdrawn" in refused(
        partial(moderation.apply_steering, debate.pk, mira, rules.SteeringKind.RECALL, seat=1)
    )


def test_a_member_is_given_up_once(debate: Debate, mira: User):
    moderation.apply_steering(debate.pk, mira, rules.SteeringKind.GIVE_UP, seat=1)
    assert Debate.objects.with_messages().get(pk=debate.pk).state().silent == {1}
    assert "is silent" in refused(
        partial(moderation.apply_steering, debate.pk, mira, rules.SteeringKind.GIVE_UP, seat=1)
    )


def test_there_is_no_other_way_to_steer(debate: Debate, mira: User):
    assert "There are: extend" in refused(partial(moderation.apply_steering, debate.pk, mira, "withdraw"))


# ---- a person on a seat -----------------------------------------------------------------------------------


@pytest.fixture
def with_noor(mira: User, noor: User) -> Debate:
    seat = {"name": "Noor", "who": "", "model": "", "user": noor}
    return queued(mira, members=[member("Amara Osei"), member("Ilse Brandt"), seat])


def test_a_person_leaves_with_a_verdict(with_noor: Debate, noor: User):
    moderation.withdraw_member(with_noor.pk, noor, "WAIT", "Nobody answered my question.")
    course = Debate.objects.with_messages().get(pk=with_noor.pk).state()
    assert (course.withdrawn, course.verdict_of) == ({3}, {3: "WAIT"})


def test_whoever_leaves_is_called_as_at_the_table_whatever_its_account_is_called_today(with_noor: Debate, noor: User):
    User.objects.filter(pk=noor.pk).update(username="noor.rahman")
    noor.refresh_from_db()
    moderation.withdraw_member(with_noor.pk, noor, "WAIT", "Nobody answered my question.")
    assert DebateMessage.objects.get(debate=with_noor.pk).by_name == "noor"


def test_a_person_leaves_with_what_it_stood_by(with_noor: Debate, noor: User):
    say(with_noor, 3, "HIRE")
    moderation.withdraw_member(with_noor.pk, noor, "", "")
    assert Debate.objects.with_messages().get(pk=with_noor.pk).state().verdict_of == {3: "HIRE"}


def test_nobody_leaves_without_a_verdict_and_its_reason(with_noor: Debate, noor: User):
    for verdict, reasoning, sentence in (
        ("", "", "You have no verdict yet"),
        ("FIRE", "Because of it.", "There is no such option"),
        ("HIRE", "Because.", "Say in a sentence why"),
        ("ABSTAIN", "", "Say in a sentence why"),
    ):
        assert sentence in refused(partial(moderation.withdraw_member, with_noor.pk, noor, verdict, reasoning))


def test_nobody_leaves_for_somebody_else(with_noor: Debate, mira: User):
    assert "no seat" in refused(partial(moderation.withdraw_member, with_noor.pk, mira, "HIRE", "I say so."))


def test_nobody_leaves_twice(with_noor: Debate, noor: User):
    moderation.withdraw_member(with_noor.pk, noor, "ABSTAIN", "I know her well.")
    assert not moderation.may_withdraw(Debate.objects.with_messages().get(pk=with_noor.pk), noor)
    assert "already" in refused(partial(moderation.withdraw_member, with_noor.pk, noor, "HIRE", "On second thought."))
