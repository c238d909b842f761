"""A letter leaves at most once, whatever becomes of the engine or the mail server meanwhile."""

import re
from datetime import timedelta
from email import message_from_string
from email.policy import default as as_read
from functools import partial

import pytest
from asgiref.sync import async_to_sync
from django.db import OperationalError
from django.urls import reverse
from django.utils import timezone

from engine import doctor
from engine.models import Letter, Run, ToolCall
from engine.models.emails import DELIVERY_TIMEOUT, RETRY_PERIOD, InvalidLetter
from engine.tools import ToolRefused, ToolUse, available_tools, format_arguments
from runs.mail import delivery
from runs.mail_message import write_message
from tests.conftest import at_once
from tests.post_office import post_office
from tests.runs.test_mail_message import HOSTILE_SUBJECTS

ATTACK = "=?utf-8?q?Minutes=0d=0aReply-To:_x@evil.example=0d=0a=0d=0aPay_9=2C000_to_me.?="
LETTER = {"to": ["ito@example.com", "noor@example.com"], "subject": "Grüße", "text": "We come on Friday.\n.\nTruly"}


@pytest.fixture
def run(db):
    return Run.objects.create(procedure="judgement")


def use(name, run, **values):
    tool = available_tools()[name]
    given, number = tool.read(LETTER | values), ToolCall.objects.filter(run=run).count() + 1
    said = tool.change(given, ToolUse(run, "1", "key"))
    ToolCall.objects.create(
        run=run, step="1", number=number, tool=name, arguments=format_arguments(given), status="done"
    )
    return said


def send(run, settings, url="smtp://127.0.0.1:1"):
    settings.EMAIL_URL = url
    use("mail.send", run)
    return Letter.objects.get()


def again(letter):
    letter.refresh_from_db()
    return letter.state


# ---- what somebody is asked about it ------------------------------------------------------------------------


def test_a_letter_is_read_as_one_and_its_text_is_never_taken_for_its_head():
    letter = available_tools()["mail.send"].read(LETTER | {"text": "So.\n\nsubject: Other"})
    said = 'to: ["ito@example.com", "noor@example.com"]\nsubject: "Grüße"\ntext:\nSo.\n\nsubject: Other'
    assert available_tools()["mail.send"].exact(letter) == said


# ---- tools --------------------------------------------------------------------------------------------------


def test_without_a_mail_server_it_stays_and_says_so(run, settings):
    settings.EMAIL_URL = ""
    assert use("mail.send", run).endswith("is in the outbox: kept, not sent: no mail server.")
    assert Letter.objects.get().state == "kept"


def test_a_draft_is_sent_to_nobody(run, settings):
    settings.EMAIL_URL = "smtp://127.0.0.1:1"
    assert use("mail.draft", run).endswith("Nothing was sent.")
    assert (Letter.objects.claim_due(), Letter.objects.get().state) == (None, "draft")


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"to": ["ito"]}, "ito is no mail address"),
        ({"to": []}, "to: List should have at least 1 item"),
        ({"to": ["a@b.example\r\nBcc: c@d.example"]}, "is no mail address"),
        ({"subject": "Hi\nBcc: c@d.example"}, "the subject is one line"),
        ({"subject": " "}, "the subject is empty"),
        ({"subject": ATTACK}, "the subject has “=\\?”, which begins text in a code: write the characters themselves"),
        ({"to": ["=?utf-8?q?evil=2C?=@example.com"]}, "the address =.* has “=\\?”"),
        ({"to": ["=?utf-8?q?Boss?= <a@b.example>"]}, "is no mail address: write it alone"),
    ],
)
def test_what_is_no_letter_is_refused(run, wrong, complaint):
    with pytest.raises(ToolRefused, match=complaint):
        use("mail.send", run, **wrong)


def test_what_a_mail_program_reads_otherwise_is_in_no_outbox(run):
    for to, subject in ((["a@b.example"], ATTACK), (["=?utf-8?q?x?=@b.example"], "Hi"), (["a@b.example"], "a\nb")):
        with pytest.raises(InvalidLetter, match="The letter was not written: "):
            Letter.objects.write(Letter.State.DRAFT, run.pk, to, subject, "text")
    assert not Letter.objects.exists()


def test_somebody_is_asked_about_a_letter_in_the_form_in_which_it_is_read():
    read = available_tools()["mail.send"].read(LETTER | {"subject": " Hi ", "text": "a\r\nb\rc"})
    assert (read.subject, read.text) == ("Hi", "a\nb\nc")


# ---- delivery -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values", [{"subject": ATTACK}, {"to": "=?utf-8?q?evil=2C?=@example.com"}, {"text": "half of a pair: \ud83d"}]
)
def test_a_letter_that_is_read_otherwise_than_it_was_approved_is_not_sent(run, settings, monkeypatch, values):
    """One that was in the outbox before such letters were refused."""
    with post_office() as office:
        letter = send(run, settings, office.url)
        if "text" in values:  # no database has such a text
            monkeypatch.setattr(delivery, "write_message", partial(with_values, values))
        else:
            monkeypatch.setattr(delivery, "is_changed", lambda letter: False)
            Letter.objects.update(**values)
        assert (delivery.deliver_due(), again(letter), office.close()) == (0, "kept", [])
    assert "Nothing was sent." in letter.error


def with_values(values, sender, letter):
    return write_message(sender, Letter(to=letter.to, subject=letter.subject, **values))


def test_hostile_but_permitted_letters_arrive_exactly_as_they_were_approved(run, settings):
    with post_office() as office:
        settings.EMAIL_URL = office.url
        for subject in HOSTILE_SUBJECTS:
            use("mail.send", run, subject=subject)
        assert delivery.deliver_due() == len(HOSTILE_SUBJECTS)
        came = [message_from_string(one["letter"], policy=as_read) for one in office.close()]
    assert [one["Subject"] for one in came] == list(HOSTILE_SUBJECTS)
    assert {(one["From"], one["To"], one["Bcc"]) for one in came} == {
        ("magi@magi.example", ", ".join(LETTER["to"]), None)
    }


def test_it_leaves_once_with_its_own_id(run, settings):
    with post_office() as office:
        letter = send(run, settings, office.url)
        assert (delivery.deliver_due(), delivery.deliver_due(), again(letter)) == (1, 0, "sent")
        [taken] = office.close()
    assert [re.search("<(.*)>", to)[1] for to in taken["to"]] == LETTER["to"]
    assert f"Message-ID: {letter.message_id}\r\n" in taken["letter"]
    assert "From: magi@magi.example\r\n" in taken["letter"]
    assert "\r\n..\r\nTruly" in taken["letter"]


@pytest.mark.parametrize(
    ("manner", "state", "error", "taken"),
    [
        ("refuses", "kept", "The mail server refused it: 550 not from you", 0),
        ("unknown", "kept", "The mail server refused it: 550 nobody of that name", 0),
        ("busy", "to_send", "The mail server refused it: 450 come again", 0),
        ("vanishes", "uncertain", "The mail server went away before it answered", 1),
        ("hangs", "uncertain", "The mail server went away before it answered", 1),
        ("mumbles", "uncertain", "Nobody can read what the mail server answered.", 1),
        ("rambles", "uncertain", "The mail server went away before it answered", 1),
    ],
)
def test_what_becomes_of_it_at_a_server_that_fails(run, settings, monkeypatch, manner, state, error, taken):
    monkeypatch.setattr(delivery, "SMTP_TIMEOUT", 0.5)
    with post_office(manner) as office:
        letter = send(run, settings, office.url)
        assert (delivery.deliver_due(), delivery.deliver_due()) == (0, 0)
        assert (again(letter), letter.error.startswith(error)) == (state, True)
        assert len(office.close()) == taken


def test_where_no_server_answers_it_is_tried_again_ever_later_and_given_up(run, settings):
    letter = send(run, settings)
    delivery.deliver_due()
    assert (again(letter), letter.attempts, letter.due > timezone.now()) == ("to_send", 1, True)
    Letter.objects.update(due=timezone.now(), made=timezone.now() - RETRY_PERIOD - timedelta(hours=1))
    delivery.deliver_due()
    assert (again(letter), letter.error.startswith("Given up after 3 days.")) == ("kept", True)


def test_what_was_under_way_in_a_crash_is_uncertain_and_left_alone(run, settings):
    with post_office() as office:
        letter = send(run, settings, office.url)
        assert Letter.objects.claim_due() == letter
        delivery.deliver_due()
        assert again(letter) == "sending"  # perhaps another engine is at it
        Letter.objects.update(taken=timezone.now() - DELIVERY_TIMEOUT - timedelta(seconds=1))
        assert (delivery.deliver_due(), again(letter), office.close()) == (0, "uncertain", [])


def test_a_password_is_told_to_no_server_without_tls(run, settings, monkeypatch):
    monkeypatch.setattr(delivery, "LOCAL_HOSTS", ())
    with post_office() as office:
        letter = send(run, settings, office.url.replace("smtp://", "smtp://mira:secret@"))
        delivery.deliver_due()
        assert (again(letter), office.close()) == ("to_send", [])
    assert letter.error == "The mail server offers no TLS, so the password was not told to it."


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_many_who_deliver_at_once_one_takes_it(settings):
    letter = send(Run.objects.create(procedure="judgement"), settings)
    taken = at_once(*[Letter.objects.claim_due] * 8, refused=LookupError)
    assert sorted(one == letter for one in taken) == [False] * 7 + [True]


# ---- the doctor ---------------------------------------------------------------------------------------------


def findings():
    return [str(finding) for finding in async_to_sync(doctor.run_checks)() if finding.subject == "mail"]


@pytest.mark.django_db(transaction=True)
def test_the_doctor_says_whether_the_mail_server_lets_us_in(settings):
    assert findings() == []
    with post_office() as office:
        settings.EMAIL_URL = office.url
        assert findings() == ["ok       mail: 127.0.0.1 takes letters from magi@magi.example."]
    (problem,) = findings()
    assert problem.startswith("PROBLEM  mail: 127.0.0.1 did not let us in: ")


# ---- people -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("action", "state"), [("mark_sent", "sent"), ("send_again", "to_send"), ("discard", "kept")])
def test_a_person_says_what_becomes_of_an_uncertain_one(run, settings, client, reviewer, action, state):
    letter = send(run, settings)
    Letter.objects.update(state="uncertain")
    client.force_login(reviewer)
    address = reverse("admin:engine_letter_changelist")
    page = client.post(address, {"action": action, "_selected_action": [letter.pk]}, follow=True)
    assert (again(letter), "1 changed." in page.content.decode()) == (state, True)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_two_who_say_it_at_once_one_is_heard(settings):
    letter = send(Run.objects.create(procedure="judgement"), settings)
    Letter.objects.update(state="uncertain")
    sent, again_please = (Letter.objects.get(pk=letter.pk) for _ in range(2))
    states = Letter.State
    heard = at_once(
        lambda: sent.resolve(states.SENT), lambda: again_please.resolve(states.TO_SEND), refused=OperationalError
    )
    assert sorted(heard) == [False, True]
    assert again(letter) == ("sent" if heard[0] else "to_send")


def test_one_that_was_kept_is_sent_when_a_person_says_so_unless_its_text_is_gone(run, settings):
    letter = send(run, settings)
    Letter.objects.update(state="kept", error="No mail server.")
    assert not letter.resolve(Letter.State.SENT)
    assert (letter.resolve(Letter.State.TO_SEND), again(letter)) == (True, "to_send")
    Letter.objects.erase(run.pk)
    assert (letter.resolve(Letter.State.TO_SEND), again(letter)) == (False, "kept")


def test_its_text_goes_with_its_run_and_it_is_not_sent_any_more(run, settings):
    letter = send(run, settings)
    Letter.objects.erase(run.pk)
    assert (again(letter), letter.text, letter.to, Letter.objects.claim_due()) == ("kept", "", "", None)


def test_what_a_server_said_of_it_goes_too(run, settings):
    letter = send(run, settings)
    Letter.objects.update(state="kept", error="550 ito@example.com is unknown here")
    Letter.objects.erase(run.pk)
    assert (again(letter), letter.error) == ("kept", "")


def test_what_is_redacted_while_it_is_sent_is_not_sent_again(run, settings):
    send(run, settings)
    taken = Letter.objects.claim_due()
    Letter.objects.erase(run.pk)
    assert taken.postpone("450 ito@example.com: come again")
    assert (again(taken), taken.error) == ("kept", "Its run was redacted.")
