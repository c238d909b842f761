"""The page on which a debate is begun."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from debates.estimate import estimate
from debates.examples import EXAMPLES
from debates.forms import DebateSubmission
from debates.models import Debate
from engine.llm.rehearsal import PACE_BY_MODEL
from engine.models.budgets import Budget
from runs.procedure.spec import specs
from tests.conftest import allow

pytestmark = pytest.mark.django_db
NEW = "/debates/new/"

WRITTEN = {
    "question": "Should she be hired?",
    "rule": "majority",
    "most": "60",
    "reply_within": "24",
    "first": "on",
    "o1-word": "HIRE",
    "o1-direction": "for",
    "o2-word": "WAIT",
    "o3-word": "DO NOT HIRE",
    "m1-name": "Amara Osei",
    "m1-model": "rehearsal/instant",
    "m1-who": "Looks at the work.",
    "m2-name": "Ilse Brandt",
    "m2-model": "rehearsal/instant",
    "m2-who": "Looks at the work.",
    "m3-name": "Rajiv Menon",
    "m3-model": "rehearsal/instant",
    "m3-who": "Looks at the work.",
}


def test_what_is_written_is_debated(page: Client, mira: User):
    answer = page.post(NEW, WRITTEN)
    debate = Debate.objects.get()
    assert (answer.status_code, answer.url) == (302, reverse("debate-live", args=[debate.pk]))
    assert (debate.run.owner, debate.first, debate.reply) == (mira, True, False)
    assert [option.word for option in debate.options.all()] == ["HIRE", "WAIT", "DO NOT HIRE"]


def test_every_fault_is_said_with_a_link_to_its_field(page: Client):
    html = page.post(NEW, {**WRITTEN, "question": "", "m2-name": "chair", "most": "3"}).content.decode()
    assert "3 things to correct" in html
    for place in ("question", "m2-name", "most"):
        assert f'<a href="#{place}">' in html
        assert f'id="{place}"' in html
    assert not Debate.objects.exists()


BUTTONS = {
    "add-option": (["HIRE", "WAIT", "DO NOT HIRE", ""], 3),
    "remove-option-1": (["WAIT", "DO NOT HIRE"], 3),
    "add-member": (["HIRE", "WAIT", "DO NOT HIRE"], 4),
    "remove-member-2": (["HIRE", "WAIT", "DO NOT HIRE"], 2),
}


def test_options_and_members_come_and_go_by_buttons(page: Client):
    for do, (options, members) in BUTTONS.items():
        context = page.post(NEW, {**WRITTEN, "do": do}).context
        assert [form["word"].value() or "" for form in context["options"]] == options
        assert len(context["members"]) == members
        assert context["form"]["question"].value() == WRITTEN["question"]
    assert not Debate.objects.exists()


def test_what_was_switched_off_stays_off_when_a_member_comes(page: Client):
    html = page.post(NEW, {**WRITTEN, "do": "add-member"}).content.decode()
    assert 'name="first" type="checkbox" checked' in html
    assert 'name="reply" type="checkbox">' in html


def test_of_six_options_and_nine_members_none_can_be_added(page: Client):
    full = {f"o{n}-word": f"W{n}" for n in range(1, 7)} | {f"m{n}-name": f"N{n}" for n in range(1, 10)}
    html = page.post(NEW, {**WRITTEN, **full, "do": "remove-member-99"}).content.decode()
    assert 'value="add-option"' not in html
    assert 'value="add-member"' not in html


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.key)
def test_an_example_can_be_begun_as_it_stands(page: Client, example):
    context = page.get(NEW, {"example": example.key}).context
    fields = {
        form[name].html_name: form[name].value() for form in context["members"] for name in ("name", "model", "who")
    }
    fields |= {
        form[name].html_name: form[name].value() for form in context["options"] for name in ("word", "direction")
    }
    assert DebateSubmission({"question": context["form"]["question"].value(), **fields}).is_valid()


def test_it_is_one_of_the_kinds_of_work(page: Client):
    assert f'formaction="{NEW}"' in page.get("/").content.decode()
    assert 'aria-current="page"' in page.get(NEW).content.decode()


def test_without_a_provider_the_members_rehearse(page: Client, settings):
    context = page.get(NEW).context
    assert {form["model"].value() for form in context["members"]} == {settings.DEFAULT_MODEL}


def test_what_it_may_cost_is_said_beforehand(page: Client, settings):
    settings.PROVIDERS = {"paid": {"base_url": "http://127.0.0.1:9/v1", "api_key": "", "prices": {"*": (1, 1)}}}
    paid = {f"m{n}-model": "paid/x" for n in (1, 2, 3)}
    html = page.post("/debates/cost/", WRITTEN | paid).content.decode()
    assert "At most 66 calls" in html
    assert "up to $" in html
    assert "All of it takes about 8 to 15 minutes." in " ".join(html.split())


def test_a_rehearsal_takes_seconds(page: Client):
    rehearsed = {f"m{n}-model": "rehearsal/magi" for n in (1, 2, 3)}
    assert "It takes seconds" in page.post("/debates/cost/", WRITTEN | rehearsed).content.decode()


def test_an_estimate_says_how_long_all_of_it_takes():
    for models, most, minutes in (
        (["test/x"] * 3, 60, (8, 15)),
        (["test/x", "rehearsal/magi"], 60, (4, 8)),
        (["rehearsal/magi"] * 2, 200, (0, 1)),
        (["test/x"] * 2, 4, (1, 1)),
        ([], 60, (0, 0)),
    ):
        assert estimate(100, [{"model": model} for model in models], "", most).minutes == minutes, models


def test_half_of_it_costs_nothing_yet(page: Client):
    broken = [{"most": "x"}, {"most": "9" * 50}, {"m1-model": ""}, {"m99-name": "x"}]
    for posted in ({}, *(WRITTEN | one for one in broken)):
        assert page.post("/debates/cost/", posted).status_code == 200


def test_a_budget_that_does_not_suffice_starts_nothing(page: Client, mira: User, settings):
    settings.PROVIDERS = {"paid": {"base_url": "http://127.0.0.1:9/v1", "api_key": "", "prices": {"*": (1, 1)}}}
    Budget.objects.create(owner=mira, limit=1)
    answer = page.post(NEW, WRITTEN | {f"m{n}-model": "paid/x" for n in (1, 2, 3)})
    assert (answer.status_code, Debate.objects.count()) == (402, 0)
    assert "The debate was not started" in answer.content.decode()


# ---- from another kind of work, and back ----------------------------------------------------------------------


def test_what_was_typed_goes_along_to_another_kind_and_back(page: Client):
    judging = {"title": "Hers", "content": "Hire her.", "a1-name": "Zed", "a1-criteria": "Be fair.", "council": ""}
    debating = page.post(NEW, {**judging, "come": "judgement"}).context
    form = debating["form"]
    assert (form["title"].value(), form["question"].value()) == ("Hers", "Hire her.")
    written = {**WRITTEN, "title": "Hers", "question": "Hire her now?", **debating["along"]}
    back = page.post("/", {**written, "come": "debate"}).context
    assert (back["form"]["content"].value(), back["agents"][0]["name"].value()) == ("Hire her now?", "Zed")
    again = {"title": "Hers", "content": "Hire her today?", **back["along"], "come": "judgement"}
    here = page.post(NEW, again).context
    assert here["form"]["question"].value() == "Hire her today?"
    assert [form["name"].value() for form in here["members"]] == ["Amara Osei", "Ilse Brandt", "Rajiv Menon"]
    assert not Debate.objects.exists()


def saved(page: Client, address: str, posted: dict, **more):
    """The page again after a detour on which what it held was saved."""
    asked = page.post(address, posted).context["written"]
    return page.post(address, {**posted, **asked, "name": "Ours", "retention_days": "", **more}).context


def test_what_came_along_is_still_there_after_something_was_saved(page: Client, mira: User):
    allow(mira, "judgements.add_council", "debates.add_panel")
    judging = {
        "content": "Hire her.",
        **{f"a{n}-{name}": f"{name} {n}" for n in "123" for name in ("name", "criteria")},
    }
    there = page.post("/", {**WRITTEN, "question": "Hire her?", "come": "debate"}).context["along"]
    back = saved(page, reverse("council-new"), {**judging, **there})
    assert (back["saved"].name, back["along"]) == ("Ours", there)
    here = page.post(NEW, {**judging, "come": "judgement"}).context["along"]
    again = saved(page, reverse("panel-new"), {**WRITTEN, **here})
    assert (again["saved"].name, again["along"]) == ("Ours", here)


def test_documents_go_along_too(page: Client):
    attached = page.post(NEW, {**WRITTEN, "paste": "Mine.", "do": "add-document"}).context["documents"]
    along = page.post("/", {**WRITTEN, "d1": attached[0]["token"], "come": "debate"}).context["along"]
    here = page.post(NEW, {**along, "content": "Hire her.", "come": "judgement"}).context
    assert [one["document"].title for one in here["documents"]] == ["Pasted text"]


def test_who_comes_from_nowhere_starts_as_ever(page: Client):
    assert page.post(NEW, {**WRITTEN, "come": "nowhere"}).status_code == 302


def test_a_whole_debate_is_rehearsed_in_less_time_than_somebody_waits():
    words, messages, wait = 90, 60, PACE_BY_MODEL["magi"] / specs()["debate"].rehearsal_speed
    assert messages * (words + 35) * wait < 120  # 35 words long it thinks, on average
