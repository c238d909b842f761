"""Rosters in numbered versions: written on a page, taken for a question, and what inquiries keep of them."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from engine.audit.full_verification import verify_all
from inquiries.forms import form_values, submit_values
from inquiries.models import Inquiry, Roster
from inquiries.models.inquiries import RoleKind
from inquiries.presets import role_values
from inquiries.procedure import submit
from judgements.models import Council
from runs.history.query import RunHistory
from runs.presets import NameReserved
from tests.conftest import agents

pytestmark = pytest.mark.django_db

QUESTION = "What is restarted first?"
STRICT = {"expert_model": "rehearsal/instant", "answer_critic": "person", "retry_limit": "2"}


@pytest.fixture
def strict(mira):
    return Roster.objects.create_first(name="Strict", owner=mira, posts=STRICT)


def test_one_is_written_on_a_page_and_changed_by_a_version(admin_client: Client):
    sent = {"name": "Strict", "every_model": "rehearsal/instant", "plan_critic": "", "answer_critic": "person"}
    admin_client.post(reverse("roster-new"), sent)
    roster = Roster.objects.with_content().get(name="Strict")
    assert roster.current.posts == {"model": "rehearsal/instant", "answer_critic": "person"}
    admin_client.post(reverse("roster-edit", args=[roster.pk]), {**sent, "answer_critic": "", "version": "1"})
    page = admin_client.get(reverse("roster", args=[roster.pk])).content.decode()
    assert "Reviews the answer: what is usual, before person." in page
    assert admin_client.get(reverse("roster-version", args=[roster.pk, 1])).status_code == 200
    assert verify_all().faults == []


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"name": ""}, "Give the roster a name."),
        ({"name": "Empty"}, "It says nothing that is not usual"),
        ({"name": "Odd", "answer_critic": "council:Nobody"}, "No council is called “Nobody” here"),
        ({"name": "Odd", "expert_model": "nobody/none"}, "nobody"),
        ({"name": "STRICT", "plan_critic": "person"}, "Another roster has this name."),
    ],
)
def test_what_is_wrong_is_said_and_nothing_typed_is_lost(admin_client: Client, strict, typed, said):
    sent = admin_client.post(reverse("roster-new"), {"about": "For <b>bold</b> tests", **typed})
    assert (sent.status_code, said in sent.content.decode()) == (422, True)
    assert "For &lt;b&gt;bold&lt;/b&gt; tests" in sent.content.decode()


def test_two_who_change_it_at_once_overwrite_nothing_unseen(admin_client: Client, strict):
    edit = reverse("roster-edit", args=[strict.pk])
    sent = {"name": "Strict", "version": "1", "plan_critic": "person"}
    assert admin_client.post(edit, sent).status_code == 302
    late = admin_client.post(edit, {**sent, "plan_critic": "", "research_critic": "person"})
    assert (late.status_code, "Version 2 was saved meanwhile" in late.content.decode()) == (409, True)


def test_an_inquiry_keeps_the_version_whose_posts_it_has(mira, strict, settings):
    values, wrong = submit_values(form_values({"question": QUESTION, "roster": "strict", "model": "rehearsal/instant"}))
    assert (wrong, values["roster"]) == ([], None)  # with another model these are not its posts
    settings.DEFAULT_MODEL = "rehearsal/instant"
    values, _ = submit_values(form_values({"question": QUESTION, "roster": "strict"}))
    row = Inquiry.objects.with_assignments().get(pk=submit(owner=mira, **values).pk)
    strict.revise(name="Strict", author=mira, posts={"plan_critic": "person"})
    assert (str(row.roster_version), row.retry_limit) == ("Strict, version 1", 2)
    assert row.role("critic_expert").kind == RoleKind.PERSON
    assert verify_all().faults == []


def test_what_is_said_goes_before_what_the_roster_says(strict):
    given = form_values({"question": QUESTION, "roster": "Strict", "answer_critic": "model", "retry_limit": None})
    assert (given["answer_critic"], given["retry_limit"]) == ("model", "2")
    assert role_values(given) == {"expert_model": "rehearsal/instant", "retry_limit": "2"}


def test_one_that_is_not_offered_is_a_wrong_field(strict, mira):
    strict.archive(mira)
    for name in ("Strict", "Nobody"):
        [(field, said)] = submit_values(form_values({"question": QUESTION, "roster": name}))[1]
        assert (field, "There is no roster" in said) == ("roster", True)


def test_new_is_filled_with_the_roster_that_is_taken(admin_client: Client, strict):
    typed = {"question": "Half a question", "plan_critic": "person", "take": str(strict.pk)}
    page = admin_client.post(reverse("inquiry-new"), typed).content.decode()
    assert "Half a question" in page
    assert re.search(r'<input type="hidden" name="roster" value="Strict">', page)
    assert re.search(r'name="answer_critic".*?value="person" selected', page, re.DOTALL)
    assert admin_client.get(f"{reverse('inquiry-new')}?roster={strict.pk}").content.decode().count("Strict") >= 2
    assert not Inquiry.objects.exists()


def test_a_council_that_is_gone_is_named_and_not_silently_a_model(admin_client: Client, strict, mira):
    strict.revise(name="Strict", author=mira, posts={"answer_critic": "council:Gone"})
    page = admin_client.get(f"{reverse('inquiry-new')}?roster={strict.pk}").content.decode()
    assert "council:Gone, which is not offered" in page
    [(field, said)] = submit_values(form_values({"question": QUESTION, "roster": "Strict"}))[1]
    assert (field, "No council is called “Gone”" in said) == ("answer_critic", True)


def renamed(council, name):
    council.revise(name=name, author=None, agents=[{"fallback": "", **one} for one in agents()])


def test_a_roster_goes_on_to_mean_the_council_that_it_was_saved_with(strict, mira):
    legal = Council.objects.create_first(name="Legal", owner=mira, agents=agents())
    strict.revise(name="Strict", author=mira, posts={"answer_critic": "council:Legal"})
    renamed(legal, "Law")
    with pytest.raises(NameReserved, match="the roster “Strict”"):
        Council.objects.create_first(name="Legal", owner=mira, agents=agents())
    values, wrong = submit_values(form_values({"question": QUESTION, "roster": "Strict"}))
    held = {"kind": "council", "council": "Law", "council_id": legal.pk}
    assert (wrong, values["critics"], values["roster"]) == ([], {"critic_expert": held}, strict.current)
    post = submit(owner=mira, **values).posts.get(name="critic_expert")
    assert post.policy == {"who": "council", "council": "Law", "council_id": legal.pk}
    assert verify_all().faults == []


def test_a_history_is_asked_for_those_of_one_roster(client: Client, mira, strict, settings):
    settings.DEFAULT_MODEL = "rehearsal/instant"
    client.force_login(mira)
    for more in ({}, {"roster": "Strict"}):
        values, _ = submit_values(form_values({"question": f"{QUESTION} {len(more)}", **more}))
        submit(owner=mira, **values)
    page = client.get(reverse("inquiry-history"), {"roster": strict.pk}).content.decode()
    assert (f"{QUESTION} 1" in page, f"{QUESTION} 0" in page) == (True, False)


def test_an_inquiry_is_found_by_the_names_of_its_roster_and_of_councils_that_let_it_pass(mira, strict, council):
    posts = {**STRICT, "model": "rehearsal/instant", "answer_critic": "council:Magi"}
    strict.revise(name="Strict", author=mira, posts=posts)
    values, _ = submit_values(form_values({"question": QUESTION, "roster": "Strict"}))
    pk = submit(owner=mira, **values).pk
    for sought in ("strict", "magi restarted", "strict magi"):
        assert [row.id for row in RunHistory(mira, {"q": sought}).page().rows] == [str(pk)]
