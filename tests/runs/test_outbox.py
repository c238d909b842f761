"""The page of letters: whose are seen by whom, how they stand, and from which step they came."""

import asyncio
import datetime

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from engine.models import Gate, Letter
from engine.models.reminders import Notice
from tests.conftest import allow, perform
from tests.plans.scenes import LETTER, SUMMARY, calls, plan, replies, steps
from tests.read_gates import decide_as_read

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # by threads of their own
State = Letter.State


def seen(client, **asked):
    return client.get("/library/outbox/", asked).content.decode()


def letter(run, state=State.SENT, subject="To Ada", **more):
    return Letter.objects.write(state, run and run.pk, ["ada@example.org"], subject, "Dear Ada.", **more)


@pytest.fixture
def mine(mira):
    return plan(mira).run


def test_a_letter_says_how_it_stands_and_of_which_plan_it_is(page, mine):
    letter(mine, State.KEPT, error="No mail server.")
    html = seen(page)
    for said in ("To Ada", "To ada@example.org", "Kept", "No mail server.", "Dear Ada.", f"/plans/{mine.pk}/"):
        assert said in html, said


@committed
def test_one_that_an_agent_wrote_leads_to_its_step(page, mira, models):
    models.will("test/planner", steps(LETTER), SUMMARY)
    sent = calls("mail.send", to=["ada@example.org"], subject="Five", text="It is five.")
    models.will("test/letters", sent, replies("Sent."))
    made = plan(mira)
    asyncio.run(perform(made.pk, models))
    for choice in ("all", ""):
        decide_as_read(Gate.objects.pending().filter(run=made.pk).earliest("pk").pk, mira, "approve", "", choice)
        asyncio.run(perform(made.pk, models))
    assert Letter.objects.get().step == "step-1-0-1"
    html = seen(page)
    assert (f"/plans/{made.pk}/#step-1" in html, "<small>Step 1</small>" in html) == (True, True)


def test_letters_of_others_are_seen_by_whoever_may_see_their_runs_or_all_letters(client, mine, noor, reviewer):
    letter(mine)
    client.force_login(noor)
    assert "To Ada" not in seen(client)
    noor.user_permissions.add(Permission.objects.get(codename="view_letter"))
    assert "To Ada" in seen(client)
    client.force_login(reviewer)
    assert "To Ada" in seen(client)


def test_what_was_written_to_somebody_about_what_waits_is_theirs_alone(client, mira, noor):
    note = letter(None, subject="2 things wait for you")
    Notice.objects.create(user=mira, day=datetime.date(2026, 11, 23), letter=note)
    for user, there in ((mira, True), (noor, False)):
        client.force_login(user)
        assert ("2 things wait for you" in seen(client)) == there


def test_letters_are_found_by_how_they_stand(page, mine):
    for state in State.values:
        letter(mine, state, f"It is {state}.", sent=timezone.now() if state == State.SENT else None)
    for state in State.values:
        html = seen(page, state=state)
        assert [f"It is {one}." in html for one in State.values] == [one == state for one in State.values]
    assert page.get("/library/outbox/", {"state": "lost"}).status_code == 404


def test_a_long_outbox_goes_on_with_older_ones(page, mine):
    first = letter(mine, subject="The very first")
    for number in range(50):
        letter(mine, subject=f"Number {number}")
    assert "The very first" not in seen(page)
    assert "The very first" in seen(page, before=first.pk + 1)
    assert f"before={first.pk + 1}" in seen(page)


def test_erased_letters_keep_their_state_alone(page, mine):
    letter(mine)
    Letter.objects.erase(mine.pk)
    html = seen(page)
    assert ("Erased" in html, "Dear Ada." in html, "Sent" in html) == (True, False, True)


@pytest.mark.parametrize("said", ["sent", "to_send", "kept"])
def test_who_may_says_on_the_page_what_became_of_an_uncertain_one(page, mira, mine, said):
    lost = letter(mine, State.UNCERTAIN)
    allow(mira, "engine.change_letter")
    assert f'name="said" value="{said}"' in seen(page)
    assert page.post(f"/library/outbox/{lost.pk}/", {"said": said}).status_code == 302
    assert (Letter.objects.get().state, 'name="said"' in seen(page)) == (said, False)


def test_who_may_not_says_nothing_and_of_a_letter_that_was_sent_nothing_is_said(page, mira, mine, noor):
    lost, sent = letter(mine, State.UNCERTAIN), letter(mine)
    assert page.post(f"/library/outbox/{lost.pk}/", {"said": "kept"}).status_code == 403
    allow(mira, "engine.change_letter")
    page.post(f"/library/outbox/{sent.pk}/", {"said": "kept"})
    page.force_login(allow(noor, "engine.change_letter"))
    assert page.post(f"/library/outbox/{lost.pk}/", {"said": "kept"}).status_code == 404
    assert {one.state for one in Letter.objects.all()} == {State.UNCERTAIN, State.SENT}
