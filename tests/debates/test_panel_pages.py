"""Panels as people and programs choose, make and change them."""

import json
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from debates.models import Debate, Panel
from tests.callers import ApiCaller, fields, problem

from . import rows
from .rows import OPTIONS, member
from .test_documents import file
from .test_new import NEW, WRITTEN
from .test_panels import held, posts

__all__ = ["posts"]

pytestmark = pytest.mark.django_db
NAMES = list(rows.NAMES)


def typed(panel: Panel, **more: str) -> dict[str, Any]:
    """As the page posts what this panel filled in."""
    values = panel.current.values()
    fields: dict[str, Any] = {"question": "Whom?", "rule": values["rule"], "most": "60", "reply_within": "24"}
    fields |= {name: "on" for name, on in values["switches"].items() if on}
    for noun in ("option", "member"):
        for number, one in enumerate(values[f"{noun}s"], 1):
            fields |= {f"{noun[0]}{number}-{name}": text for name, text in one.items()}
    return {**fields, "panel": str(panel.pk), "panel_version": str(panel.current.number), **more}


def names(answer) -> list[str]:
    return [form["name"].value() for form in answer.context["members"]]


# ---- choosing one ---------------------------------------------------------------------------------------------


def test_the_first_one_is_chosen_and_fills_the_page(page: Client, posts: Panel):
    answer = page.get(NEW)
    assert (answer.context["panel"], names(answer)) == (posts.pk, NAMES)
    assert answer.context["form"]["rule"].value() == "median"
    assert f'name="panel" value="{posts.pk}" checked' in answer.content.decode()


def test_another_one_takes_the_place_of_what_stood_there_but_not_of_the_question(page: Client, posts: Panel):
    answer = page.post(NEW, {**WRITTEN, "panel": posts.pk, "do": "take-panel", "documents": file()})
    assert (names(answer), answer.context["came_from"]) == (NAMES, 1)
    assert answer.context["form"]["question"].value() == WRITTEN["question"]
    assert [one["document"].title for one in answer.context["documents"]] == ["letter.md"]
    assert names(page.post(NEW, {**WRITTEN, "panel": "", "do": "take-panel"})) == ["", "", ""]


def test_a_debate_as_the_panel_has_it_bears_its_name(page: Client, posts: Panel, mira: User):
    answer = page.post(NEW, typed(posts))
    debate = Debate.objects.get()
    assert debate.panel_version == posts.current
    assert "Posts, version 1" in page.get(answer.url).content.decode()


def test_with_a_member_changed_it_is_ones_own(page: Client, posts: Panel):
    page.post(NEW, typed(posts, **{"m1-who": "Somebody else."}))
    assert Debate.objects.get().panel_version is None


def test_one_that_changed_meanwhile_starts_nothing_and_comes_back_as_it_is(page: Client, posts: Panel, mira: User):
    opened = typed(posts)
    posts.revise(name="Posts", author=mira, **held(rule="plurality"))
    answer = page.post(NEW, opened)
    assert (answer.status_code, Debate.objects.count()) == (409, 0)
    assert (answer.context["came_from"], answer.context["form"]["rule"].value()) == (2, "plurality")
    assert answer.context["form"]["question"].value() == "Whom?"


def test_one_that_was_archived_meanwhile_leaves_what_it_held(page: Client, posts: Panel, mira: User):
    opened = typed(posts)
    posts.archive(mira)
    answer = page.post(NEW, opened)
    assert (answer.status_code, answer.context["panel"], names(answer)) == (409, None, NAMES)
    page.post(NEW, {**opened, "panel": "", "panel_version": ""})
    assert Debate.objects.get().panel_version is None


# ---- saving what stands on the page ---------------------------------------------------------------------------


def test_what_stands_on_the_page_is_saved_and_nothing_is_lost(page: Client, posts: Panel):
    page_of_debate = {**WRITTEN, "title": "Mine", "documents": file(), "m3-user": "noor", "m3-model": ""}
    asked = page.post(reverse("panel-new"), page_of_debate)
    assert names(asked) == ["Amara Osei", "Ilse Brandt", "Rajiv Menon"]
    assert asked.context["members"][2]["person"].value() is True
    written = asked.context["written"]
    again = {name: value for name, value in page_of_debate.items() if name not in ("documents", "m3-who")}
    saved = page.post(reverse("panel-new"), {**again, **written, "name": "Hirers", "m3-person": "on", "m3-who": ""})
    made = Panel.objects.get(name="Hirers")
    assert saved.context["saved"] == made
    assert (saved.context["form"]["title"].value(), saved.context["panel"]) == ("Mine", made.pk)
    assert [one["document"].title for one in saved.context["documents"]] == ["letter.md"]
    assert saved.context["members"][2]["user"].value() == "noor"
    assert [seat.person for seat in made.current.seats.all()] == [False, False, True]


def test_what_stands_on_the_page_becomes_the_next_version(page: Client, posts: Panel):
    changed = typed(posts, **{"m1-who": "Somebody else."})
    asked = page.post(reverse("panel-new"), changed)
    assert asked.context["origin"] == posts
    page.post(reverse("panel-new"), {**changed, **asked.context["written"], "name": "", "do": "version"})
    posts.refresh_from_db()
    assert (posts.current.number, posts.current.seats.first().who) == (2, "Somebody else.")


def test_a_model_that_was_left_open_stays_open(page: Client, posts: Panel):
    asked = page.post(reverse("panel-new"), typed(posts))
    assert {form["model"].value() for form in asked.context["members"]} == {""}


def test_one_comes_back_without_having_saved(page: Client, posts: Panel):
    asked = page.post(reverse("panel-new"), {**WRITTEN, "documents": file()})
    answer = page.post(reverse("panel-new"), {**WRITTEN, **asked.context["written"], "back": "1"})
    assert answer.context["form"]["question"].value() == WRITTEN["question"]
    assert len(answer.context["documents"]) == 1


def test_who_may_make_none_is_told_so(page: Client, mira: User):
    Permission.objects.get(codename="add_panel").group_set.clear()
    assert page.get(reverse("panel-new")).status_code == 403
    assert page.post(reverse("panel-new"), WRITTEN).status_code == 403


# ---- its pages ------------------------------------------------------------------------------------------------


def test_one_is_made_changed_and_archived_on_its_pages(page: Client):
    values = {f"m{n}-who": "Looks at it." for n in (1, 2)} | {"m1-name": "Ada", "m2-name": "Ben"}
    values |= {"o1-word": "OPEN", "o2-word": "CLOSE", "name": "Sundays", "rule": "majority"}
    page.post(reverse("panel-new"), values)
    made = Panel.objects.get()
    page.post(reverse("panel-edit", args=[made.pk]), {**values, "version": "1", "m2-name": "Cleo", "rule": "median"})
    html = page.get(reverse("panel", args=[made.pk])).content.decode()
    for sentence in ("Cleo is new.", "Ben sits there no more.", "What decides: median instead of majority."):
        assert sentence in html
    assert "version 1" in page.get(reverse("panel-version", args=[made.pk, 1])).content.decode()
    page.post(reverse("panel-switch", args=[made.pk]), {"do": "archive"})
    assert "Archived on" in page.get(reverse("panel", args=[made.pk])).content.decode()
    assert not Panel.objects.available().exists()


def test_two_who_change_one_at_once_do_not_lose_a_change(page: Client, posts: Panel, mira: User):
    posts.revise(name="Posts", author=mira, **held(rule="plurality"))
    answer = page.post(reverse("panel-edit", args=[posts.pk]), {**typed(posts), "name": "Posts", "version": "1"})
    assert answer.status_code == 409
    assert "What decides: plurality instead of median." in answer.content.decode()


def test_members_come_and_go_on_its_form_and_its_name_stays(page: Client, posts: Panel):
    address = reverse("panel-edit", args=[posts.pk])
    values = {**typed(posts), "name": "Posters", "version": "1"}
    answer = page.post(address, {**values, "do": "remove-member-1"})
    assert (names(answer), answer.context["form"]["name"].value()) == (NAMES[1:], "Posters")


def test_anothers_panel_is_not_changed(page: Client, noor: User):
    theirs = Panel.objects.create_first(name="Theirs", owner=noor, **held())
    assert page.get(reverse("panel-edit", args=[theirs.pk])).status_code == 403
    assert page.post(reverse("panel-switch", args=[theirs.pk]), {"do": "archive"}).status_code == 403


def test_it_stands_in_the_library_with_its_use(page: Client, posts: Panel):
    page.post(NEW, typed(posts))
    html = page.get(reverse("panels")).content.decode()
    assert "Posts" in html
    assert f'href="{NEW}?panel={posts.pk}"' in html
    assert "Councils" in page.get(reverse("library")).content.decode()


def test_its_page_takes_as_many_queries_however_often_it_was_used(page, posts, django_assert_max_num_queries):
    for _ in range(3):
        page.post(NEW, typed(posts))
    with django_assert_max_num_queries(24):
        page.get(reverse("panel", args=[posts.pk]))


# ---- by programs ----------------------------------------------------------------------------------------------


def test_a_program_debates_by_a_panel(mira_calls: ApiCaller, posts: Panel):
    for panel in (posts.pk, "posts"):
        answer = mira_calls.post("/debates", {"question": "Whom?", "panel": panel})
        found = answer.json()
        assert (answer.status_code, found["panel"]) == (202, {"id": posts.pk, "name": "Posts", "version": 1})
        assert (found["rule"], [one["name"] for one in found["members"][1:]]) == ("median", NAMES)


def test_what_is_given_beside_a_panel_holds_in_its_place(mira_calls: ApiCaller, posts: Panel):
    most = mira_calls.post("/debates", {"question": "Whom?", "panel": posts.pk, "most": 20}).json()
    other = mira_calls.post("/debates", {"question": "Whom?", "panel": posts.pk, "rule": "majority"}).json()
    assert (most["most"], most["panel"]["version"]) == (20, 1)
    assert (other["rule"], other["panel"]) == ("majority", None)


def test_a_panel_that_is_not_there_or_is_another_is_said(mira_calls: ApiCaller, posts: Panel):
    said = fields(mira_calls.post("/debates", {"question": "Whom?", "panel": "Hirers"}))
    assert said == {"panel": "There is no panel “Hirers”. Known: Posts."}
    problem(mira_calls.post("/debates", {"question": "Whom?", "panel": posts.pk, "version": 2}), 409)
    said = fields(mira_calls.post("/debates", {"question": "Whom?", "members": list(map(member, NAMES))}))
    assert said == {"options": "Name them, or a panel that has them."}
    said = fields(mira_calls.post("/debates", {"question": "?", "version": 1, "options": OPTIONS, "members": []}))
    wordless = "Write what is to be decided. It has no words."
    assert said == {"version": "It is a panel's. Name the panel, too.", "question": wordless}


def test_panels_are_listed_for_programs(mira_calls: ApiCaller, posts: Panel):
    (found,) = mira_calls.get("/panels").json()["results"]
    assert (found["id"], found["version"], found["rule"]) == (posts.pk, 1, "median")
    assert [one["name"] for one in found["members"]] == NAMES


def test_the_command_debates_by_a_panel(posts: Panel):
    for which in ("Posts", "posts", str(posts.pk)):
        out = StringIO()
        call_command("debate", "Whom?", panel=which, no_wait=True, stdout=out)
        assert Debate.objects.get(pk=out.getvalue().strip()).panel_version == posts.current
    assert json.dumps(posts.current.held())


# ---- what its members are used to do ---------------------------------------------------------------------------


def decided(owner: User, panel: Panel, *verdicts: str) -> Debate:
    debate = rows.queued(owner, panel=panel.current, **panel.current.values())
    for number, verdict in enumerate(verdicts, 1):
        rows.say(debate, (number - 1) % 3 + 1, verdict, withdrawn=number == len(verdicts))
    return rows.over(debate, "HIRE")


def test_a_panels_page_shows_the_habits_of_its_members_over_debates_that_one_may_see(
    page: Client, posts: Panel, mira: User, noor: User, settings: Any
):
    address = reverse("panel", args=[posts.pk])
    settings.DEFAULT_MODEL = "rehearsal/instant"
    decided(mira, posts, "HIRE", "HIRE", "HIRE")
    assert "Habits" not in page.get(address).content.decode()
    settings.DEFAULT_MODEL = "openai/a"
    decided(mira, posts, "HIRE", "WAIT", "HIRE")
    decided(mira, posts, "HIRE", "HIRE", "WAIT", "HIRE", "WAIT")
    decided(noor, posts, "HIRE", "WAIT", "HIRE")
    answer = page.get(address)
    found = [
        (one.name, one.debates, one.alone, one.changed, one.left_first) for one in answer.context["habits"].members
    ]
    assert found == [("Amara Osei", 2, 1, 0, 0), ("Ilse Brandt", 2, 1, 1, 1), ("Rajiv Menon", 2, 0, 0, 1)]
    assert "the newest 2 debates" in " ".join(answer.content.decode().split())
