"""The form of a team: what it shows, what it saves, and that nothing typed is lost."""

import json
import re

import pytest

from plans.models import Team
from plans.rules.approval_policy import STEP_BY_STEP

from .posted import PostedPage

pytestmark = pytest.mark.django_db
AGENTS = [
    {"name": "People partner", "description": "Looks after people.", "tools": ["people.find", "people.add"]},
    {"name": "Letters", "system": "Be brief.\nBe kind.", "tools": ["mail.send"]},
]


@pytest.fixture
def mine(mira):
    return Team.objects.create_first(name="Mine", owner=mira, agents=AGENTS, examples=["Onboard Jessica."])


def fields(html):
    return PostedPage(html).fields


def opened(page, team=None, more=""):
    address = f"/teams/{team.pk}/edit/{more}" if team else f"/teams/new/{more}"
    return fields(page.get(address).content)


def whole(team):
    return Team.objects.with_content().get(pk=team.pk)


def test_what_is_not_changed_makes_no_new_version(page, mine):
    assert page.post(f"/teams/{mine.pk}/edit/", opened(page, mine)).status_code == 302
    assert whole(mine).number == 1


def test_every_ready_made_team_is_written_on_it_as_it_is(client, reviewer):
    reviewer.is_superuser = True
    reviewer.save()
    client.force_login(reviewer)
    for team in Team.objects.with_content().filter(owner=None):
        assert client.post(f"/teams/{team.pk}/edit/", opened(client, team)).status_code == 302
        assert whole(team).number == team.number, team.name


def test_what_only_another_kind_of_run_can_use_is_no_tick(page, mine, mira_calls):
    offered = page.get(f"/teams/{mine.pk}/edit/").content.decode()
    assert "a1-tool-people.find" in offered
    assert "a1-tool-sources.read" not in offered
    named = {one["name"] for one in mira_calls.get("/tools").json()["results"]}
    assert {"people.find"} == named & {"people.find", "sources.read"}


def test_ticks_are_the_tools_of_an_agent(page, mine):
    sent = opened(page, mine) | {"a2-tool-mail.draft": "on"}
    del sent["a1-tool-people.add"]
    assert page.post(f"/teams/{mine.pk}/edit/", sent).status_code == 302
    assert [agent.tools for agent in whole(mine).current.agents.all()] == [["people.find"], ["mail.draft", "mail.send"]]


def test_a_demand_is_kept_as_it_was_chosen(page, mine, council):
    key = "calls-reaches_out"
    both = {f"{key}-who": "both", f"{key}-council": "Magi", f"{key}-persons": "2", f"{key}-four_eyes": "on"}
    sent = opened(page, mine) | both | {f"{key}-expiry": "reject", f"{key}-hours": "48"}
    assert page.post(f"/teams/{mine.pk}/edit/", sent).status_code == 302
    assert whole(mine).current.policy["calls"]["reaches_out"] == {
        "who": "both",
        "persons": 2,
        "four_eyes": True,
        "council": "Magi",
        "council_id": council.pk,
        "expiry": "reject",
        "hours": 48,
    }


def test_what_leaves_the_house_cannot_be_open(page, mine):
    refused = page.post(f"/teams/{mine.pk}/edit/", opened(page, mine) | {"calls-reaches_out-who": "open"})
    assert (refused.status_code, whole(mine).number) == (422, 1)


WRONG = (
    {
        "name": ("", "name"),
        "planner": ("nowhere", "planner"),
        "a1-name": ("person", "a1-name"),
        "a1-model": ("nowhere", "a1-model"),
        "plan-who": ("council", "plan-council"),
        "e1-task": ("x" * 2_001, "e1-task"),
        "retention_days": ("soon", "retention_days"),
    },
    {
        "a2-name": ("people PARTNER", "a2-name"),
        "plan-who": ("both", None),
        "plan-council": ("Nobody", "plan-council"),
        "plan-persons": ("many", "plan-persons"),
        "plan-expiry": ("reject", "plan-hours"),
    },
)


@pytest.mark.parametrize("wrong", WRONG)
def test_each_error_stands_at_its_field_and_nothing_typed_is_lost(page, mine, wrong):
    sent = opened(page, mine) | {"a1-system": "Typed just now."} | {name: typed for name, (typed, _) in wrong.items()}
    refused = page.post(f"/teams/{mine.pk}/edit/", sent)
    assert (refused.status_code, whole(mine).number) == (422, 1)
    places = {where for _, where in wrong.values() if where}
    assert {one["id"] for one in PostedPage(refused.content).with_("aria-invalid")} == places
    assert [where for where in places if f'<a href="#{where}">' not in refused.content.decode()] == []
    assert fields(refused.content) == sent


def test_what_says_nothing_is_no_error(page, mine):
    sent = opened(page, mine) | {"steps-reads-persons": "many", "plan-hours": "x", "plan-council": "y" * 90}
    assert page.post(f"/teams/{mine.pk}/edit/", sent).status_code == 302


COME_AND_GO = (("add-agent", 3, "a3-name"), ("remove-agent-1", 1, "add-agent"), ("add-example", 2, "e2-task"))


def test_agents_and_tasks_come_and_go_without_a_script(page, mine):
    typed = opened(page, mine) | {"name": "Typed"}
    for do, agents, focus in COME_AND_GO:
        shown = PostedPage(page.post(f"/teams/{mine.pk}/edit/", typed | {"do": do}).content)
        names = [name for name in shown.fields if re.fullmatch(r"a\d-name", name)]
        assert [one["id"] for one in shown.with_("autofocus")] == [focus]
        assert (len(names), shown.fields["name"]) == (agents, "Typed")


def test_a_ready_made_policy_fills_the_table_and_saves_nothing(page, mine):
    answer = page.post(f"/teams/{mine.pk}/edit/", opened(page, mine) | {"do": "policy-Step by step"})
    sent = {name: value for name, value in fields(answer.content).items() if name != "do"}
    assert (sent["plan-who"], sent["steps-reads-who"], whole(mine).number) == ("open", "person", 1)
    page.post(f"/teams/{mine.pk}/edit/", sent)
    assert whole(mine).current.policy == STEP_BY_STEP.as_json()


def test_form_and_text_hand_over_what_was_typed(page, mine):
    typed = opened(page, mine) | {"a1-name": "Somebody else", "plan-persons": "2", "retention_days": "200"}
    text = fields(page.post(f"/teams/{mine.pk}/edit/", typed | {"do": "as-text"}).content)
    assert json.loads(text["text"])["agents"][0]["name"] == "Somebody else"
    assert fields(page.post(f"/teams/{mine.pk}/edit/", text | {"do": "as-form"}).content) == typed
    assert page.post(f"/teams/{mine.pk}/edit/", text).status_code == 302
    assert (whole(mine).retention_days, whole(mine).current.policy["plan"]["persons"]) == (200, 2)


def test_a_new_team_is_made_by_the_form_with_its_retention(page, mira):
    sent = opened(page) | {"name": "New", "a1-name": "One", "retention_days": "300"}
    assert page.post("/teams/new/", sent).status_code == 302
    made = Team.objects.get(name="New")
    assert (made.owner, made.retention_days) == (mira, 300)


def test_a_team_has_one_to_eight_agents(page):
    none = {name: value for name, value in opened(page).items() if not re.match(r"a\d", name)} | {"name": "New"}
    for count in (0, 9):
        refused = page.post("/teams/new/", none | {f"a{one}-name": f"A{one}" for one in range(1, count + 1)})
        assert (refused.status_code, "one to 8 agents" in refused.content.decode()) == (422, True)


def test_a_copy_has_what_the_original_holds(page, mine):
    copy = opened(page, more=f"?from={mine.pk}")
    assert (copy["name"], copy["a2-name"], copy["e1-task"]) == ("Copy of Mine", "Letters", "Onboard Jessica.")


def test_who_is_overtaken_is_told_what_changed_and_keeps_what_was_typed(page, mine, mira):
    sent = opened(page, mine) | {"description": "Mine to say."}
    mine.revise(name="Mine", author=mira, agents=AGENTS[:1])
    late = page.post(f"/teams/{mine.pk}/edit/", sent)
    assert (late.status_code, "Letters is gone." in late.content.decode()) == (409, True)
    assert page.post(f"/teams/{mine.pk}/edit/", fields(late.content)).status_code == 302
    assert whole(mine).current.description == "Mine to say."


def test_a_tool_that_is_not_there_any_more_stays_until_its_tick_is_taken_away(page, mira):
    team = Team.objects.create_first(name="Old", owner=mira, agents=[{"name": "Faxes", "tools": ["fax.send"]}])
    sent = opened(page, team)
    assert page.post(f"/teams/{team.pk}/edit/", sent | {"description": "Old."}).status_code == 302
    assert whole(team).current.agents.get().tools == ["fax.send"]
    page.post(f"/teams/{team.pk}/edit/", {k: v for k, v in opened(page, team).items() if "fax" not in k})
    assert whole(team).current.agents.get().tools == []


def test_a_tool_that_is_not_there_is_named_where_it_was_ticked_and_nothing_is_saved(page, mine):
    sent = opened(page, mine) | {"a1-tool-fax.send": "on", "a1-tool-mail.beam": "on"}
    answer = page.post(f"/teams/{mine.pk}/edit/", sent)
    assert answer.status_code == 422
    assert "There is no tool “fax.send”, “mail.beam” here." in answer.content.decode()
    assert whole(mine).number == 1
