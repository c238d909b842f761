"""The HTTP API of debates: what callers get, and that whatever is wrong is a problem that says what."""

from typing import Any
from xml.etree import ElementTree

import pytest
from django.contrib.auth.models import User

from debates import schemas
from debates.models import Debate, DebateMessage, SteeringAction
from debates.models.constants import SWITCHED_OFF
from debates.xml_messages import unescape_scaffold
from magi_site.models import Token
from tests.callers import API, ApiCaller, fields, problem
from tests.conftest import allow

from .rows import NAMES, OPTIONS, member, over, queued, say

pytestmark = pytest.mark.django_db

ASKED: dict[str, Any] = {
    "question": "Should she be hired?",
    "options": OPTIONS,
    "members": list(map(member, NAMES)),
}


@pytest.fixture
def debate(mira: User) -> Debate:
    return queued(mira)


# ---- submitting -------------------------------------------------------------------------------------------


def test_members_are_put_to_debate(mira_calls: ApiCaller, mira: User):
    answer = mira_calls.post("/debates", {**ASKED, "spend": "3.00", "most": 20})
    assert answer.status_code == 202
    found = answer.json()
    assert answer.headers["Location"] == f"http://testserver/api/v1/debates/{found['id']}"
    assert (found["kind"], found["status"], found["outcome"]) == ("debate", "queued", None)
    assert [one["name"] for one in found["members"]] == ["Timekeeper", *NAMES]
    assert found["switches"] == {"first": True, "reply": True, "call": True, "challenge": True} | dict.fromkeys(
        SWITCHED_OFF, False
    )
    assert Debate.objects.get().run.spend == 3_000_000_000


def test_the_object_is_as_it_is_described(mira_calls: ApiCaller, debate: Debate):
    say(debate, 1, "HIRE")
    found = mira_calls.get(f"/debates/{debate.pk}").json()
    assert schemas.DebateOut.model_validate(found)
    assert mira_calls.get(f"/runs/{debate.pk}").json() == found


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"question": ""}, "question"),
    ({"question": None}, "question"),
    ({"question": "a\x00b"}, "question"),
    ({"options": OPTIONS[:1]}, "options"),
    ({"options": [*OPTIONS, OPTIONS[0]]}, "options.3.word"),
    ({"options": [{"word": "abstain"}, *OPTIONS]}, "options.0.word"),
    ({"options": [{"word": "A", "direction": "up"}, *OPTIONS]}, "options.0.direction"),
    ({"members": []}, "members"),
    ({"members": [member(f"Of {n}") for n in range(10)]}, "members"),
    ({"members": [member("Chair"), member("A")]}, "members.0.name"),
    ({"members": [{"name": "A"}, member("B")]}, "members.0.model"),
    ({"members": [{"name": "A", "user": "nobody"}, member("B")]}, "members.0.user"),
    ({"members": [{"name": "A", "seat": 4}, member("B")]}, "members.0.seat"),
    ({"most": 2}, "most"),
    ({"most": "60"}, "most"),
    ({"most": True}, "most"),
    ({"spend": "much"}, "spend"),
    ({"until": "2020-01-01T00:00:00Z"}, "until"),
    ({"rule": "dice"}, "rule"),
    ({"seed": "7"}, "seed"),
    ({"first": "yes"}, "first"),
    ({"reply_within": 0}, "reply_within"),
    ({"verdict": "HIRE"}, "verdict"),
]


def test_what_is_wrong_is_named_and_nothing_is_submitted(mira_calls: ApiCaller):
    named = [(fields(mira_calls.post("/debates", {**ASKED, **change})), path) for change, path in WRONG]
    assert [(path, found) for found, path in named if path not in found] == []
    assert not Debate.objects.exists()


def test_all_that_is_wrong_is_said_at_once(mira_calls: ApiCaller):
    found = fields(mira_calls.post("/debates", {**ASKED, "question": " ", "most": 3, "seed": "x"}))
    assert found.keys() == {"question", "most", "seed"}


def test_the_same_request_under_a_key_brings_the_same_debate(mira_calls: ApiCaller):
    first, second = (mira_calls.post("/debates", ASKED, Idempotency_Key="k").json()["id"] for _ in range(2))
    assert first == second
    problem(mira_calls.post("/debates", {**ASKED, "most": 20}, Idempotency_Key="k"), 422)


# ---- what is said -----------------------------------------------------------------------------------------


def test_what_came_after_a_message_can_be_asked_for(mira_calls: ApiCaller, debate: Debate):
    for seat in (1, 2, 3):
        say(debate, seat)
    results = mira_calls.get(f"/debates/{debate.pk}/messages", after=2).json()["results"]
    assert [one["number"] for one in results] == [3]


def test_the_chair_asks_a_member(mira_calls: ApiCaller, debate: Debate):
    answer = mira_calls.post(f"/debates/{debate.pk}/messages", {"to": 2, "text": "And the money?", "ask": True})
    assert answer.status_code == 202
    assert answer.json()["messages"][0]["speaking_to"] == ["Ilse Brandt"]
    assert SteeringAction.objects.get().act == "ask"


def test_the_same_words_under_a_key_are_said_once(mira_calls: ApiCaller, debate: Debate):
    for _ in range(2):
        mira_calls.post(f"/debates/{debate.pk}/messages", {"text": "Go on."}, Idempotency_Key="k")
    assert DebateMessage.objects.count() == 1


def test_nothing_is_said_to_a_debate_that_is_over(mira_calls: ApiCaller, debate: Debate):
    over(debate)
    answer = mira_calls.post(f"/debates/{debate.pk}/messages", {"text": "Wait!"})
    assert problem(answer, 409)["detail"] == "The debate is over."


# ---- steering ---------------------------------------------------------------------------------------------


def test_a_debate_is_extended(mira_calls: ApiCaller, debate: Debate):
    assert mira_calls.post(f"/debates/{debate.pk}/steer", {"kind": "extend", "amount": 20}).json()["most"] == 80


def test_what_cannot_be_done_is_said(mira_calls: ApiCaller, debate: Debate):
    answer = mira_calls.post(f"/debates/{debate.pk}/steer", {"kind": "recall", "member": 1})
    assert problem(answer, 409)["detail"].startswith("Amara Osei has not withdrawn")


def test_steering_is_described(mira_calls: ApiCaller, debate: Debate):
    for asked in ({"kind": "wait"}, {"kind": "extend", "amount": "20"}, {"kind": "close", "why": "x"}):
        problem(mira_calls.post(f"/debates/{debate.pk}/steer", asked), 422)


def test_a_person_on_a_seat_leaves_it(mira: User, noor: User):
    seat = {"name": "Noor", "who": "", "model": "", "user": noor}
    debate = queued(mira, members=[member("Amara Osei"), member("Ilse Brandt"), seat])
    leave = {"kind": "withdraw", "verdict": "WAIT", "reasoning": "I have heard enough."}
    problem(ApiCaller(mira).post(f"/debates/{debate.pk}/steer", leave), 409)
    answer = ApiCaller(allow(noor, "engine.view_run")).post(f"/debates/{debate.pk}/steer", leave)
    assert [one["withdrawn"] for one in answer.json()["members"]] == [False, False, False, True]


# ---- who may ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "body"), [("messages", {"text": "Go on."}), ("steer", {"kind": "close"})])
def test_whoever_may_only_see_it_is_no_chair(debate: Debate, noor: User, path: str, body: dict[str, Any]):
    problem(ApiCaller(noor).post(f"/debates/{debate.pk}/{path}", body), 404)
    problem(ApiCaller(allow(noor, "engine.view_run")).post(f"/debates/{debate.pk}/{path}", body), 403)
    everybodys = ApiCaller(allow(noor, "engine.view_run", "engine.steer_run"))
    assert everybodys.post(f"/debates/{debate.pk}/{path}", body).status_code == 202


def test_a_token_without_the_scope_steers_nothing(debate: Debate, mira: User, client: Any):
    token = Token.objects.make(mira, scopes=["submit:debate", "steer:judgement"]).secret
    headers = {"Authorization": f"Bearer {token}"}
    for path, body in (("messages", {"text": "Go on."}), ("steer", {"kind": "close"})):
        answer = client.post(f"{API}/debates/{debate.pk}/{path}", body, "application/json", headers=headers)
        assert "lacks the scope" in problem(answer, 403)["detail"]


# ---- the record -------------------------------------------------------------------------------------------


def test_what_was_said_is_given_as_xml(mira_calls: ApiCaller, debate: Debate):
    say(debate, 1, "HIRE", content="Read <this> & that.\x1b")
    answer = mira_calls.get(f"/debates/{debate.pk}/record.xml")
    assert answer.headers["Content-Type"] == "application/xml; charset=utf-8"
    root = ElementTree.fromstring(answer.content)
    assert unescape_scaffold(root.findtext(".//Message/Content", "")) == "Read <this> & that.\x1b"


def test_with_a_person_at_the_table_the_record_waits_for_the_end(mira_calls: ApiCaller, mira: User):
    debate = queued(mira, members=[*map(member, NAMES), member("Elin Sato", "", user=mira)])
    paths = [f"/{kind}/{debate.pk}/record" for kind in ("debates", "runs")]
    for path in paths:
        assert problem(mira_calls.get(path), 409)["detail"].startswith("A person sits at the table.")
    over(debate)
    assert [mira_calls.get(path).status_code for path in paths] == [200, 200]
