"""What the outbox sends is what a tool wrote, and stays so: the use of the tool is sealed."""

import pytest

from engine.audit.verification import verify_one
from engine.models import Letter
from plans.rules.approval_policy import TeamPolicy
from plans.rules.enums import StepEffect
from runs.mail import delivery
from tests.conftest import ScriptedModels, person
from tests.databases import copied, tampering
from tests.plans.scenes import LETTER, SUMMARY, calls, plan, replies, steps, team
from tests.plans.test_approved_letter import OPEN
from tests.plans.test_columns import going
from tests.post_office import post_office

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # by threads of their own
SAID = {"to": ["ada@example.org"], "subject": "The sum", "text": "It is 5."}


def make_letters():
    """Of a plan that has drafted one and sent one."""
    mira, models = person("mira"), ScriptedModels()
    models.will("test/planner", steps(LETTER), SUMMARY)
    models.will("test/letters", calls("mail.draft", **SAID), calls("mail.send", **SAID | {"text": "5."}), replies())
    version = team(TeamPolicy(OPEN, dict.fromkeys(StepEffect, OPEN), dict.fromkeys(StepEffect, OPEN)))
    made = plan(mira, version)
    going(made, mira, models)
    return list(Letter.objects.order_by("pk"))


@pytest.fixture(scope="module")
def drafted_and_sent():
    return copied(make_letters)


@pytest.fixture
def letters(drafted_and_sent, mira):
    return drafted_and_sent()


def faults(letter):
    return [fault.text for fault in verify_one(letter.run_id)[2]]


@pytest.mark.parametrize("change", [{"to": "eve@example.org"}, {"subject": "Another"}, {"text": "6."}, {"step": "x"}])
def test_a_letter_that_was_changed_is_found(letters, change):
    sent = letters[1]
    assert faults(sent) == []
    Letter.objects.filter(pk=sent.pk).update(**change)
    assert faults(sent) == [f"Its letter {sent.pk} is not what was written with a tool."]


def test_a_draft_that_is_said_to_leave_and_a_second_copy_are_found(letters):
    drafted, sent = letters
    Letter.objects.filter(pk=drafted.pk).update(state="to_send")
    more = Letter.objects.write("sent", sent.run_id, [sent.to], sent.subject, sent.text, step=sent.step)
    assert faults(sent) == [
        f"Its letter {drafted.pk} was a draft, and is said to leave.",
        f"Its letter {more.pk} is not what was written with a tool.",
    ]


def test_what_was_changed_or_was_a_draft_is_not_sent(letters, settings):
    drafted, sent = letters
    with post_office() as post, tampering():
        settings.EMAIL_URL = post.url
        Letter.objects.filter(pk=drafted.pk).update(state="to_send")
        Letter.objects.filter(pk=sent.pk).update(state="to_send", text="6.")
        assert delivery.deliver_due() == 0
        Letter.objects.filter(pk=sent.pk).update(state="to_send", step="another")
        assert delivery.deliver_due() == 0
        Letter.objects.filter(pk=sent.pk).update(state="to_send", text=sent.text, step=sent.step)
        assert delivery.deliver_due() == 1
    assert Letter.objects.get(pk=drafted.pk).error == delivery.CHANGED
