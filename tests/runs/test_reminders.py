"""Whoever is asked is told again after 1, 3 and 7 days, and by one letter a day."""

from datetime import UTC, datetime, timedelta

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.urls import reverse
from django.utils import timezone

from engine.models import EmailOptOut, Gate, Letter, Notice, Reminder, Run
from engine.policy import parse_policy
from runs.approvals import reminders
from runs.mail import delivery
from tests.conftest import allow, at_once, perform, submitted
from tests.post_office import post_office


@pytest.fixture
def mailed(settings, mira):
    settings.EMAIL_URL = "smtp://127.0.0.1:1"
    mira.email = "mira@example.com"
    mira.save()
    return mira


@pytest.fixture
def run(mira):
    return Run.objects.create(procedure="judgement", owner=mira, status=Run.Status.WAITING)


def ask(run, step="letter", days=0.0, **values):
    made = timezone.now() - timedelta(days=days)
    policy = parse_policy(values.pop("policy", {}))
    values = {"title": f"A {step}", "text": "Dear Ada", "kind": "letter", **values}
    return Gate.objects.create(run=run, step=step, number=1, made=made, policy=policy, **values)


def days_later(monkeypatch, days):
    real = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: real() + timedelta(days=days))


def reminded(gate):
    return list(gate.reminders.values_list("days", flat=True))


def test_a_gate_is_reminded_of_after_1_3_and_7_days_once_each(run, monkeypatch):
    gate, seen = ask(run), []
    for hour in (0, 20, 25, 45, 70, 75, 120, 165, 170, 215):
        with monkeypatch.context() as clock:
            days_later(clock, hour / 24)
            reminders.send_reminders()
            reminders.send_reminders()
        seen.append((hour, reminded(gate)))
    first = {days: next(hour for hour, found in seen if days in found) for days in (1, 3, 7)}
    assert first == {1: 25, 3: 75, 7: 170}
    assert reminded(gate) == [1, 3, 7]


@pytest.mark.parametrize(("hours", "due"), [(1, 0.5), (24, 12), (30, 15)])
def test_of_what_has_little_time_one_is_told_when_half_of_it_is_over(run, monkeypatch, hours, due):
    gate = ask(run, expires=timezone.now() + timedelta(hours=hours))
    for later, found in ((due - 0.1, []), (due + 0.1, [0]), (due + 0.2, [0])):
        with monkeypatch.context() as clock:
            days_later(clock, later / 24)
            reminders.send_reminders()
        assert reminded(gate) == found


def test_what_has_days_is_reminded_of_after_the_first_alone(run):
    gate = ask(run, days=1.6, expires=timezone.now() + timedelta(days=1))
    reminders.send_reminders()
    assert reminded(gate) == [1]


def test_what_became_due_while_no_engine_ran_is_one_reminder(run):
    gate = ask(run, days=8)
    reminders.send_reminders()
    assert reminded(gate) == [7]


@pytest.mark.parametrize("values", [{"state": "approved"}, {"policy": {"who": "council", "council": "Letters"}}])
def test_nobody_is_reminded_of_what_waits_for_no_person(run, values):
    ask(run, days=2, **values)
    reminders.send_reminders()
    assert not Reminder.objects.exists()


def test_of_a_run_that_is_over_nobody_is_reminded(run):
    ask(run, days=2)
    Run.objects.update(status="cancelled")
    reminders.send_reminders()
    assert not Reminder.objects.exists()


def test_the_page_says_how_often(run, mira, client):
    Reminder.objects.create(gate=ask(run, days=4), days=3, made=timezone.now())
    client.force_login(mira)
    assert "reminded once" in client.get(reverse("waiting")).content.decode()


# ---- by mail --------------------------------------------------------------------------------------------------


def test_one_letter_names_all_that_waits_with_links_and_no_content(run, mailed):
    new, old = ask(run, "note"), ask(run, "letter", days=1.5)
    reminders.send_reminders()
    letter = Letter.objects.get()
    assert (letter.to, letter.subject, letter.state) == ("mira@example.com", "2 things wait for you", "to_send")
    assert f"A letter\nsince {old.made:%d %b %Y, %H:%M} UTC\nhttp://127.0.0.1:8000/gates/{old.pk}/" in letter.text
    assert f"/gates/{new.pk}/" in letter.text
    assert "Dear Ada" not in letter.text


def test_what_nobody_was_reminded_of_yet_is_written_to_nobody(run, mailed):
    ask(run)
    reminders.send_reminders()
    assert not Letter.objects.exists()


def test_it_is_one_a_day_and_what_came_later_is_in_that_of_the_next_day(run, mailed, monkeypatch):
    monkeypatch.setattr(timezone, "now", lambda: datetime(2026, 11, 2, 12, tzinfo=UTC))
    ask(run, "letter", days=1.1)
    reminders.send_reminders()
    ask(run, "note", days=1.2)
    reminders.send_reminders()
    assert [notice.gates.count() for notice in Notice.objects.all()] == [1]
    monkeypatch.setattr(timezone, "now", lambda: datetime(2026, 11, 3, 0, 1, tzinfo=UTC))
    reminders.send_reminders()
    assert [notice.gates.count() for notice in Notice.objects.all()] == [1, 2]


def test_a_week_without_an_answer_is_three_letters(run, mailed, monkeypatch):
    ask(run)
    for hour in range(0, 24 * 10, 3):
        with monkeypatch.context() as clock:
            days_later(clock, hour / 24)
            reminders.send_reminders()
    assert Letter.objects.count() == 3


def test_each_of_a_group_is_written_to_and_who_has_decided_is_not(run, mailed, noor):
    group = Group.objects.create(name="Letters")
    group.user_set.add(mailed, noor)
    noor.email = "noor@example.com"
    noor.save()
    gate = ask(run, days=2, asked_group=group, asked="Letters", policy={"persons": 2})
    gate.decisions.create(by_user=mailed, by="mira", decision="approve")
    reminders.send_reminders()
    assert list(Letter.objects.values_list("to", flat=True)) == ["noor@example.com"]


def test_who_may_decide_for_all_is_written_to_where_the_owner_may_not(run, mailed, noor):
    noor.email = "noor@example.com"
    noor.save()
    allow(noor, "engine.decide_gate")
    ask(run, days=2, policy={"four_eyes": True})
    reminders.send_reminders()
    assert [one.user for one in Notice.objects.all()] == [noor]


@pytest.mark.parametrize(
    "email", ["", "mira", "mira@example.com\r\nBcc: x@y.example", "jürgen@exämple.com", "=?utf-8?q?x=2C?=@y.example"]
)
def test_who_has_no_address_gets_none(run, mailed, email):
    type(mailed).objects.update(email=email)
    ask(run, days=2)
    reminders.send_reminders()
    assert not Letter.objects.exists()


def test_it_is_turned_off_and_on_where_the_account_is(run, mailed, client):
    client.force_login(mailed)
    assert "It goes to mira@example.com." in client.get(reverse("notices")).content.decode()
    client.post(reverse("notices"))
    ask(run, days=2)
    reminders.send_reminders()
    assert (EmailOptOut.objects.count(), Letter.objects.count()) == (1, 0)
    client.post(reverse("notices"), {"mail": "on"})
    reminders.send_reminders()
    assert (EmailOptOut.objects.count(), Letter.objects.count()) == (0, 1)


def test_without_a_mail_server_nothing_is_written(run, mailed, settings, client):
    settings.EMAIL_URL = ""
    gate = ask(run, days=2)
    reminders.send_reminders()
    client.force_login(mailed)
    assert (reminded(gate), Letter.objects.count()) == ([1], 0)
    assert "No mail server is set up here" in client.get(reverse("notices")).content.decode()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_many_engines_one_writes(mailed):
    waiting = Run.objects.create(procedure="judgement", owner=mailed, status=Run.Status.WAITING)
    ask(waiting, days=2)
    at_once(*[reminders.send_reminders] * 6, refused=LookupError)
    assert (Reminder.objects.count(), Letter.objects.count()) == (1, 1)


@pytest.mark.django_db(transaction=True)
async def test_no_run_fails_of_reminders_that_do(mira, monkeypatch, models, settings):
    tried, settings.STARTUP_TASKS = [], ["runs.approvals.reminders.remind_periodically"]

    def break_down():
        tried.append(1)
        raise OSError("nobody is there")

    monkeypatch.setattr(reminders, "FIRST_DELAY", 0)
    monkeypatch.setattr(reminders, "INTERVAL", 0.01)
    monkeypatch.setattr(reminders, "send_reminders", break_down)
    run = await sync_to_async(submitted)(mira)
    assert (await perform(run.pk, models)).status == Run.Status.FINISHED
    assert len(tried) > 1


def test_it_leaves_like_any_letter_and_at_most_once(run, mailed, settings):
    ask(run, days=2)
    with post_office() as office:
        settings.EMAIL_URL = office.url
        reminders.send_reminders()
        assert (delivery.deliver_due(), delivery.deliver_due()) == (1, 0)
        [taken] = office.close()
    assert "Subject: 1 thing waits for you" in taken["letter"]


def test_it_goes_with_the_texts_of_what_it_names(run, mailed):
    ask(run, days=2)
    reminders.send_reminders()
    Letter.objects.erase(run.pk)
    letter = Letter.objects.get()
    assert (letter.state, letter.to, letter.text) == ("kept", "", "")
