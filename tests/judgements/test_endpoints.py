"""The HTTP API of judgements: what callers get, and that whatever is wrong is a problem that says what."""

from uuid import uuid4

import pytest

from engine.models import Run
from engine.models.budgets import Budget
from judgements import schemas
from judgements.models import Judgement
from runs import run_actions
from tests.callers import API, ApiCaller, fields, problem
from tests.conftest import JAPAN, NOBODYS_ID, agents

pytestmark = pytest.mark.django_db


ASKED = {"content": JAPAN, "agents": agents()}


# ---- submitting ---------------------------------------------------------------------------------------------


def test_agents_are_put_to_judge(mira_calls, mira):
    answer = mira_calls.post("/judgements", ASKED)
    assert answer.status_code == 202
    found = answer.json()
    assert answer.headers["Location"] == f"http://testserver/api/v1/judgements/{found['id']}"
    assert (found["status"], found["verdict"], found["council"]) == ("idle", None, None)
    assert [agent["name"] for agent in found["agents"]] == ["Melchior", "Balthasar", "Casper"]
    assert Judgement.objects.get().run.owner == mira
    assert mira_calls.client.get(answer.headers["Location"]).json() == found


def test_a_council_is_put_to_judge_by_its_name(mira_calls, council):
    found = mira_calls.post("/judgements", {"content": JAPAN, "title": "Japan", "council": "mAgI"}).json()
    assert (found["council"], found["council_version"], found["title"]) == ("Magi", 1, "Japan")


def test_what_is_written_is_kept_as_it_is(mira_calls):
    content = "  Zürich → 東京 🗼\n\tone\r\ntwo  "
    assert mira_calls.post("/judgements", {**ASKED, "content": content}).json()["content"] == content


def changed(**agent):
    return [agents()[0], {**agents()[1], **agent}, agents()[2]]


def test_what_is_wrong_is_named_and_nothing_is_queued(mira_calls, council):
    answers = [(path, fields(mira_calls.post("/judgements", ASKED | change))) for change, path in WRONG]
    assert [one for one in answers if one[0] not in one[1]] == []
    assert not Run.objects.exists()


WRONG = [
    ({"content": ""}, "content"),
    ({"content": None}, "content"),
    ({"content": 5}, "content"),
    ({"content": ["x"]}, "content"),
    ({"content": " \n"}, "content"),
    ({"content": "x" * 20_001}, "content"),
    ({"content": "a\x00b"}, "content"),
    ({"content": "a\ud800b"}, "content"),
    ({"title": "x" * 121}, "title"),
    ({"title": "a\nb"}, "title"),
    ({"title": {}}, "title"),
    ({"verdict": "approved"}, "verdict"),
    ({"\ud800": 1}, ""),
    ({"agents": []}, "agents"),
    ({"agents": agents()[:2]}, "agents"),
    ({"agents": agents() + agents()[:1]}, "agents"),
    ({"agents": "three"}, "agents"),
    ({"agents": None}, "agents"),
    ({"agents": [1, 2, 3]}, "agents.0"),
    ({"agents": changed(name="")}, "agents.1.name"),
    ({"agents": changed(name="MELCHIOR")}, "agents.1.name"),
    ({"agents": changed(criteria=" ")}, "agents.1.criteria"),
    ({"agents": changed(criteria="x" * 4_001)}, "agents.1.criteria"),
    ({"agents": changed(model="nowhere/x")}, "agents.1.model"),
    ({"agents": changed(model="\x00")}, "agents.1.model"),
    ({"agents": changed(fallback="rehearsal/instant")}, "agents.1.fallback"),
    ({"agents": changed(seat="A")}, "agents.1.seat"),
    ({"council": "Magi"}, "agents"),
    ({"agents": None, "council": "Nobody"}, "council"),
    ({"agents": None, "council": "\x00"}, "council"),
    ({"agents": None, "council": "\ud800"}, "council"),
    ({"agents": None, "council": ""}, "council"),
    ({"agents": None, "council": 7_000}, "council"),
]


def test_all_that_is_wrong_is_named_at_once(mira_calls):
    wrong = {"content": " ", "title": "a\nb", "agents": changed(name="", model="nowhere/x"), "council": "Magi"}
    found = fields(mira_calls.post("/judgements", wrong))
    assert set(found) == {"content", "title", "agents", "agents.1.name", "agents.1.model"}


def test_what_is_no_json_is_said(mira_calls):
    answers = [(said, problem(mira_calls.post("/judgements", body), 400)["detail"]) for body, said in NO_JSON]
    assert [one for one in answers if one[0] not in one[1]] == []


NO_JSON = [
    (b"{", "line 1"),
    (b"\xff\xfe{\x00}\x00", "UTF-8"),
    (b"\xef\xbb\xbf{}", "BOM"),
    (b'{"content": "a", "content": "b"}', "twice"),
    (b'{"agents": [{"name": "a", "name": "b"}]}', "twice"),
    (b'{"content": 1e400}', "too large"),
    (b'{"content": -1e999}', "too large"),
    (b'{"content": NaN}', "NaN"),
    (b'{"content": ' + b"9" * 5000 + b"}", "too large"),
    (b'{"content": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "too deeply"),
    (b"{'content': 1}", "line 1"),
    (b'{"content": "a\nb"}', "control character"),
]


def test_json_that_is_no_judgement_is_refused(mira_calls):
    for body in (b"", b"[]", b"null", b"5", b'"x"', b"{}", b'{"content":' + b"[" * 500 + b"]" * 500 + b"}"):
        problem(mira_calls.post("/judgements", body), 422)


def test_only_json_is_taken(mira_calls):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        problem(mira_calls.post("/judgements", ASKED, kind), 415)


def test_a_body_that_is_too_large_is_refused(mira_calls):
    said = problem(mira_calls.post("/judgements", {**ASKED, "content": "x" * 1_100_000}), 413)
    assert "1024 kB" in said["detail"]


def test_a_budget_that_is_used_up_is_said(mira_calls, mira, settings, provider):
    Budget.objects.create(owner=mira, limit=1)
    settings.PROVIDERS = {"openai": {**settings.PROVIDERS["openai"], "prices": {"*": (1, 1)}}}
    said = problem(mira_calls.post("/judgements", {**ASKED, "agents": agents(*["openai/x"] * 3)}), 402)
    assert "does not suffice" in said["detail"]
    assert not Run.objects.exists()


# ---- looking ------------------------------------------------------------------------------------------------


def test_what_others_submitted_is_not_there(mira_calls, noor, judgement):
    for method, path in [
        ("get", ""),
        ("get", "/record"),
        ("get", "/events"),
        ("post", "/cancel"),
        ("post", "/retry"),
    ]:
        theirs = getattr(ApiCaller(noor), method)(f"/judgements/{judgement.pk}{path}")
        missing = getattr(mira_calls, method)(f"/judgements/{uuid4()}{path}")
        assert problem(theirs, 404) == problem(missing, 404)
    assert Run.objects.get().status == Run.Status.QUEUED


def test_staff_sees_all(reviewer, judgement):
    assert ApiCaller(reviewer).get(f"/judgements/{judgement.pk}").json()["id"] == str(judgement.pk)


def test_a_wait_that_cannot_be_is_refused(mira_calls, judgement):
    for wait in ("-1", "61", "x", "nan", "inf", "1e400"):
        assert "wait" in fields(mira_calls.get(f"/judgements/{judgement.pk}", wait=wait)), wait


def test_the_record_has_every_entry(mira_calls, mira, judgement):
    run_actions.cancel(judgement, mira)
    found = mira_calls.get(f"/judgements/{judgement.pk}/record").json()
    kinds = [entry["kind"] for entry in found["entries"]]
    assert (found["id"], kinds) == (str(judgement.pk), ["submitted", "ended"])


def test_an_unknown_address_is_a_problem(mira_calls):
    for path in ("/nothing", "/judgements/5", f"/judgements/{NOBODYS_ID}/nothing", "/", "/judgements/"):
        problem(mira_calls.get(path), 404)


def test_another_method_is_a_problem_that_names_the_right_ones(mira_calls, judgement):
    answer = mira_calls.client.delete(f"{API}/judgements/{judgement.pk}")
    problem(answer, 405)
    assert answer.headers["Allow"] == "GET"


def test_an_unknown_host_is_a_problem(mira_calls):
    problem(mira_calls.client.get(f"{API}/councils", headers={"Host": "evil.example"}), 400)


# ---- steering -----------------------------------------------------------------------------------------------


def test_cancelling_ends_and_may_be_sent_again(mira_calls, mira, judgement):
    for _ in range(2):
        answer = mira_calls.post(f"/judgements/{judgement.pk}/cancel")
        assert (answer.status_code, answer.json()["status"]) == (202, "cancelled")
    assert Run.objects.get().cancelled_by == mira


def test_what_is_over_cannot_be_cancelled(mira_calls, judgement):
    Run.objects.update(status="failed", error={"code": "timeout", "message": "It took too long."})
    assert "error" in problem(mira_calls.post(f"/judgements/{judgement.pk}/cancel"), 409)["detail"]


def test_what_failed_goes_on(mira_calls, judgement):
    Run.objects.update(status="failed", error={"code": "timeout", "message": "It took too long."})
    answer = mira_calls.post(f"/judgements/{judgement.pk}/retry")
    assert (answer.status_code, answer.json()["status"]) == (202, "idle")
    assert "idle" in problem(mira_calls.post(f"/judgements/{judgement.pk}/retry"), 409)["detail"]


# ---- lists --------------------------------------------------------------------------------------------------


def submitted(owner, number):
    return [Judgement.objects.submit(owner=owner, content=f"Trip {n}", agents=agents()) for n in range(number)]


def test_pages_lead_from_the_newest_to_the_oldest(mira_calls, mira, noor):
    mine = submitted(mira, 30)
    submitted(noor, 2)
    first = mira_calls.get("/judgements", status="idle", q="trip").json()
    second = mira_calls.client.get(first["next"]).json()
    found = [one["id"] for one in first["results"] + second["results"]]
    assert found == [str(one.pk) for one in reversed(mine)]
    assert (len(first["results"]), second["next"]) == (25, None)
    assert "status=idle" in first["next"]


def test_a_list_takes_as_many_queries_however_long_it_is(mira_calls, mira, django_assert_max_num_queries):
    submitted(mira, 25)
    with django_assert_max_num_queries(12):
        mira_calls.get("/judgements")


def test_filters_are_those_of_the_history(mira_calls, mira, council):
    one = Judgement.objects.submit(owner=mira, content="Osaka", agents=council.agents(), council=council.current)
    submitted(mira, 1)

    def found(**query):
        return [each["id"] for each in mira_calls.get("/judgements", **query).json()["results"]]

    for query in ({"q": "osaka"}, {"council": "Magi"}, {"council": "Magi", "status": "idle", "until": ""}):
        assert found(**query) == [str(one.pk)]
    assert found(status="approved") == found(until="2020-01-01") == []
    assert len(found(since="2020-01-01")) == 2


def test_a_filter_that_is_wrong_is_named(mira_calls, council):
    answers = [(path, fields(mira_calls.get("/judgements", **query))) for query, path in WRONG_FILTERS]
    assert [one for one in answers if one[0] not in one[1]] == []


WRONG_FILTERS = [
    ({"status": "good"}, "status"),
    ({"council": "Nobody"}, "council"),
    ({"council": "\x00"}, "council"),
    ({"since": "yesterday"}, "since"),
    ({"until": "2026-02-30"}, "until"),
    ({"since": "2026-02-02", "until": "2026-02-01"}, "until"),
    ({"q": "x" * 1001}, "q"),
    ({"q": "\x00"}, "q"),
    ({"cursor": "x"}, "cursor"),
    ({"cursor": NOBODYS_ID}, "cursor"),
    ({"stauts": "idle"}, "stauts"),
    ({"status": ["idle", "error"]}, "status"),
]


def test_councils_are_those_that_are_offered(mira_calls, council):
    found = mira_calls.get("/councils").json()
    schemas.CouncilListOut.model_validate(found)
    assert "Magi" in [each["name"] for each in found["results"]]
    council.archive(by=None)
    assert "Magi" not in [each["name"] for each in mira_calls.get("/councils").json()["results"]]


def test_models_are_those_that_are_known(mira_calls):
    found = mira_calls.get("/models").json()
    assert found == {"results": [{"name": "rehearsal/magi", "default": True, "rehearsal": True}]}


def test_the_description_knows_everything_in_a_judgement(mira_calls, judgement):
    found = mira_calls.get(f"/judgements/{judgement.pk}").json()
    schemas.JudgementOut.model_validate(found)
    schemas.JudgementListOut.model_validate(mira_calls.get("/judgements").json())


def test_a_list_that_is_too_short_is_refused_in_words(mira_calls):
    answer = mira_calls.post("/judgements", {"content": JAPAN, "agents": agents()[:2]})
    assert "At least 3 are needed, 2 are given." in fields(answer).values()
