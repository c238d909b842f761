"""docs/api.md and the API's own description say the same."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, get_args

from ninja import Schema
from pydantic import RootModel

from debates.schemas import DebateMessageIn, NewDebate, NewDebateFork, SteeringIn
from inquiries.schemas import InquiryHintIn, NewInquiry
from judgements.schemas import NewJudgement, NewJudgementBatch, NewReceipt
from magi_site import chat_endpoint
from magi_site.api import api
from missions.schemas import MemoryChange, MemoryDecision, MissionMessageIn, NewMemory, NewMission, NewMissionFork
from plans.schemas import NewPlan, NewPlanFork, PlanCommentIn, ProjectChange, StepChange
from runs.api.gates import BulkDecisionBody, DecisionBody
from runs.api.webhooks import NewWebhook
from runs.procedure.schemas import NewReview
from runs.procedure.spec import specs
from tests.callers import API

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "api.md").read_text()
SHAPES = {
    "judgements": NewJudgement,
    "batch": NewJudgementBatch,
    "reviews": NewReview,
    "receipt": NewReceipt,
    "debates": NewDebate,
    "messages": DebateMessageIn,
    "steer": SteeringIn,
    "decide": DecisionBody,
    f"{API}/gates/decide": BulkDecisionBody,
    "plans": NewPlan,
    "inquiries": NewInquiry,
    "missions": NewMission,
    "hint": InquiryHintIn,
    "replan": InquiryHintIn,
    "webhooks": NewWebhook,
    f"{API}/plans/{{id}}/messages": PlanCommentIn,
    f"{API}/missions/{{id}}/messages": MissionMessageIn,
    f"{API}/missions/{{id}}/fork": NewMissionFork,
    f"{API}/plans/{{id}}/fork": NewPlanFork,
    f"{API}/debates/{{id}}/fork": NewDebateFork,
    f"{API}/matters/{{id}}": ProjectChange,
    f"{API}/memories": NewMemory,
    f"{API}/memories/{{name}}": MemoryChange,
    "accept": MemoryDecision,
    f"{API}/teams": RootModel[dict[str, Any]],
    f"{API}/teams/{{name}}": RootModel[dict[str, Any]],
    f"{API}/plans/{{id}}/steps/{{number}}": StepChange,
}
CALL = re.compile(
    r'curl [^"]*?(?:-X (POST|PUT|PATCH|DELETE) )?"\$MAGI(/[^"?]*)\??([^"]*)"(.*?)(?=\ncurl|\n```)', re.DOTALL
)


def shown():
    """Method, path, names of the query, body of each call in the document."""
    for method, path, query, rest in CALL.findall(TEXT):
        body = re.search(r"-d '(.*?)'", rest, re.DOTALL)
        names = {pair.partition("=")[0] for pair in query.split("&") if pair}
        path = re.sub(
            r"(?<=steps/)3", "{number}", re.sub(r"[$](ID|GATE|WEBHOOK)", "{id}", path.replace("$DELIVERY", "{number}"))
        ).replace("$COMMIT", "{commit}")
        path = re.sub(r"(?<=sources/)1|(?<=terminals/)1", "{number}", path)
        path = re.sub(r"(?<=teams/)People|(?<=memories/)rounding|(?<=councils/)Magi|(?<=panels/)Posts", "{name}", path)
        yield method.lower() or ("post" if body else "get"), f"/api/v1{path}", names, body and body[1]


def test_every_call_is_shown_and_no_other():
    described = {(m, path) for path, calls in api.get_openapi_schema()["paths"].items() for m in calls}
    ours = {(method, path) for method, path in described if not path.startswith("/api/v1/checks")}
    assert {(method, path) for method, path, _, _ in shown()} == ours


def test_every_call_that_is_made_as_to_a_model_is_shown():
    paths = [path.replace("{name}", "council/Magi") for path in chat_endpoint.api.get_openapi_schema()["paths"]]
    assert [path for path in paths if f'"${{MAGI%/api/v1}}{path}"' not in TEXT] == []


def test_what_is_shown_is_what_is_described():
    paths = api.get_openapi_schema()["paths"]
    for method, path, names, body in shown():
        assert names <= {one["name"] for one in paths[path][method]["parameters"]}
        if body:
            shape = SHAPES.get(path) or SHAPES[path.rpartition("/")[2]]
            shape.model_validate(json.loads(body))


def test_the_description_and_its_page_are_open_to_everybody(client):
    assert client.get(f"{API}/openapi.json").json()["openapi"].startswith("3.1")
    page = client.get(f"{API}/docs").content.decode()
    assert "POST /api/v1/judgements" in page


def test_the_page_needs_nothing_that_the_policy_forbids(client):
    page = client.get(f"{API}/docs").content.decode()
    assert "<style" not in page
    assert " style=" not in page
    assert set(re.findall(r"https?://[^/\s]+", page)) <= {"http://www.w3.org", "http://testserver"}


def test_every_call_says_how_it_may_be_refused():
    for operations in api.get_openapi_schema()["paths"].values():
        for operation in operations.values():
            assert 401 in operation["responses"]
            refusals = [answer for status, answer in operation["responses"].items() if status >= 400]
            assert {kind for answer in refusals for kind in answer["content"]} == {"application/problem+json"}


def test_the_page_has_the_statuses_and_outcomes_of_all_kinds():
    listed = dict(re.findall(r"^\| (\w+) \| (`\w+`, .* \| .*) \|$", TEXT, re.MULTILINE))
    known = {kind: face for kind, face in specs().items() if kind != "check"}
    assert set(listed) == set(known)
    for kind, face in known.items():
        statuses, _, outcomes = listed[kind].partition(" | ")
        assert re.findall(r"`(\w+)`", statuses) == list(get_args(face.schema.model_fields["status"].annotation))
        assert re.findall(r"`(\w+)`", outcomes) == (list(map(str, face.outcomes)) or ["no_decision"])


def test_no_two_shapes_have_one_name():
    """The description would have one of them for both."""
    apart = ("automation_api", "runs.chat", "tests", "ninja")  # described by themselves, or not at all
    shapes = {shape for shape in all_below(Schema) if not shape.__module__.startswith(apart)}
    described = api.get_openapi_schema()["components"]["schemas"]
    twice = [name for name, number in Counter(shape.__name__ for shape in shapes).items() if number > 1]
    assert set(twice) & set(described) == set()


def all_below(shape):
    for below in shape.__subclasses__():
        yield below
        yield from all_below(below)
