"""A program of the source over real connections: its ten calls alone take a plan to its end."""

import json
import threading
from http.client import HTTPConnection

import pytest

from tests.acceptance.site import ServedSite, manage
from tests.plans.test_automation_events import KEYS
from tests.waiting import wait_until

EVERY_SCOPE = "submit,steer,decide"
PEOPLE = ("Enter Ada Lovelace among the people.", "People partner", ["people.add"])
LAW = ("Find what the contract promises.", "Legal reader", ["documents.find"])
TEXT = ("Write the announcement of Ada.", "Writer", ["documents.write"])
LETTER = ("Welcome Ada by a letter.", "Letters", ["mail.send"])
BROKEN = ("Print a badge.", "Service desk", [])
MENDED = ("Enter a task for the badge.", "Service desk", ["tasks.add"])


def planned(*steps):
    made = [{"action": action, "owner": owner, "tools": tools, "needs": None} for action, owner, tools in steps]
    return {"thought": "So it goes.", "questions": [], "steps": made}


def call(tool, **arguments):
    return {"thought": "", "act": "call", "tool": tool, "arguments": json.dumps(arguments), "text": ""}


def says(act, text):
    return {"thought": "", "act": act, "tool": "", "arguments": "", "text": text}


def rules():
    """What the models answer, each to what it is asked; an agent's moves in their order."""
    yield "A plan is over.", {"summary": "Ada is welcomed."}
    yield "This is the first plan", {"thought": "I ask.", "questions": ["Who welcomes her?"], "steps": []}
    yield "Your questions were answered", planned(PEOPLE, LAW, TEXT, LETTER, BROKEN)
    yield "Something failed", planned(MENDED)
    moves = [
        (PEOPLE, [says("ask", "In which unit?"), call("people.add", name="Ada Lovelace", unit="Sales")]),
        (LAW, [call("documents.find", query="contract")]),
        (TEXT, [call("documents.write", name="Ada", text="Ada is here.")]),
        (LETTER, [call("mail.send", to=["ada@example.org"], subject="Welcome", text="Welcome, Ada.")]),
        (BROKEN, [says("give_up", "There is no printer.")]),
        (MENDED, [call("tasks.add", title="Badge")]),
    ]
    for (action, _, _), answers in moves:
        for answer in [*answers, says("reply", f"Done: {action}")]:
            yield f'"action": "{action}"', answer


def script():
    """Each answer is given once: the next question of the same agent gets its next one."""
    return [[text, {"behaviour": "raw", "content": json.dumps(answer), "times": 1}] for text, answer in rules()]


class AutomationProgram:
    def __init__(self, site, scopes=EVERY_SCOPE):
        done = manage("create_token", "admin", "--name", "source", "--scopes", scopes, env=site.env)
        assert done.returncode == 0, done.stderr
        self.site, self.headers = site, {"Authorization": f"Bearer {done.stdout.strip()}"}

    def open(self, method, path, body=None, **headers):
        connection = HTTPConnection("127.0.0.1", self.site.port, timeout=70)
        named = {"Content-Type": "application/json"} if body is not None else {}
        sent = None if body is None else json.dumps(body)
        connection.request(method, f"/api/automation{path}", sent, {**named, **self.headers, **headers})
        return connection.getresponse()

    def call(self, method, path, body=None, **headers):
        answer = self.open(method, path, body, **headers)
        return answer.status, json.loads(answer.read() or "null")

    def said(self, method, path, body=None):
        status, said = self.call(method, path, body)
        assert status == 200, said
        return said

    def until(self, plan, enough):
        """The steps, as soon as they are enough: a status, and where it is wanted of which action."""

        def found():
            steps = self.said("GET", f"/steps/{plan}")
            return steps if enough(steps) else None

        return wait_until(found, "the steps are as they are to be")

    def hears(self, session, words):
        """Until these words are in the session; what people say at the same time may come after them."""
        messages = f"/agent_messages/{session}"
        wait_until(lambda: words in {one["content"] for one in self.said("GET", messages)}, f"it is said: {words}")

    def waits(self, plan, step):
        """The step of this action, as soon as it waits for an answer."""
        found = self.until(plan, lambda steps: (step[0], "awaiting_feedback") in {_stands(one) for one in steps})
        return next(one for one in found if one["action"] == step[0])


def _stands(step):
    return step["action"], step["status"]


class Follower(threading.Thread):
    """Reads the events of a session until its plan has ended."""

    def __init__(self, program, session):
        super().__init__(daemon=True)
        self.answer, self.told = program.open("GET", f"/events/{session}"), []

    def run(self):
        lines = {}
        for line in self.answer:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                lines[name] = value
                continue
            if lines.get("event"):
                self.told.append((lines["event"], json.loads(lines["data"])))
            if lines.get("event") == "plan_state_update":
                return
            lines = {}


@pytest.fixture(scope="module")
def program(scripted_site):
    return AutomationProgram(scripted_site)


def test_ten_calls_alone_take_a_plan_to_its_end(program, scripted_site, endpoint):
    endpoint.reset()
    endpoint.script(by_text=script())
    tools = {(one["agent"], one["function"]) for one in program.said("GET", "/api/agent-tools")}
    assert {("People partner", "people.add"), ("Letters", "mail.send")} <= tools

    begun = program.said("POST", "/input_task", {"session_id": "ada", "description": "Welcome Ada Lovelace."})
    plan, named = begun["plan_id"], {"plan_id": begun["plan_id"], "session_id": "ada"}
    assert begun["status"] == "The planner asks: Who welcomes her?"
    follower = Follower(AutomationProgram(scripted_site), "ada")  # by a token of its own: it reads, and decides nothing
    follower.start()
    said = program.said("POST", "/human_clarification_on_plan", {**named, "human_clarification": "We all do."})
    assert set(said) == {"status", "session_id"}

    steps = program.until(plan, lambda steps: [one["status"] for one in steps] == ["awaiting_feedback"] * 5)
    assert [one["agent"] for one in steps] == [PEOPLE[1], LAW[1], TEXT[1], LETTER[1], BROKEN[1]]
    first = {**named, "step_id": steps[0]["id"], "approved": True, "human_feedback": ""}
    assert program.said("POST", "/human_feedback", first)["status"] == "Step 1 approved"
    assert program.said("POST", "/approve_step_or_steps", {**named, "approved": True}) == {"status": "4 steps approved"}

    program.hears("ada", "In which unit?")
    assert program.said("POST", "/human_feedback", {**first, "human_feedback": "Sales"})["status"] == "Step 1 answered"
    letter = program.waits(plan, LETTER)
    assert program.call("POST", "/human_feedback", {**first, "step_id": letter["id"]})[0] == 409  # not read yet
    assert any("Welcome, Ada." in one["content"] for one in program.said("GET", "/agent_messages/ada"))
    program.said("POST", "/approve_step_or_steps", {**first, "step_id": letter["id"]})
    mended = program.waits(plan, MENDED)
    program.said("POST", "/human_feedback", {**first, "step_id": mended["id"]})

    follower.join(60)
    [ended] = program.said("GET", "/plans?session_id=ada")
    assert (ended["overall_status"], ended["total_steps"], ended["completed_steps"]) == ("completed", 5, 5)
    assert {name: set(data) for name, data in follower.told} == {name: set(keys.split()) for name, keys in KEYS.items()}
    responses = [data["status"] for name, data in follower.told if name == "action_response"]
    assert (responses.count("success"), responses.count("failure")) == (5, 1)
    lines = program.said("GET", "/messages")
    assert {one["data_type"] for one in lines} == {"session", "plan", "step", "agent_message"}
    assert program.said("DELETE", "/messages?confirm=admin") == {"status": "1 plan deleted"}
    assert program.said("GET", "/messages") == []


def test_each_refusal_has_its_code(program, scripted_site):
    task = {"description": "Welcome Ada Lovelace."}
    assert program.call("GET", "/plans", Authorization="Bearer none")[0] == 401
    assert program.call("POST", "/input_task", task, user_principal_id="somebody")[0] == 403
    assert program.call("POST", "/input_task", {**task, "user_id": "somebody"})[0] == 403
    assert program.call("GET", "/plans", user_principal_id="admin")[0] == 200
    reader = AutomationProgram(scripted_site, "submit:debate")
    status, said = reader.call("POST", "/input_task", task)
    assert (status, "submit" in said["detail"]) == (403, True)
    assert program.call("GET", "/plans?session_id=nowhere")[0] == 404
    assert program.call("POST", "/input_task", {})[0] == 422
    assert program.call("DELETE", "/messages")[0] == 422
    assert program.said("GET", "/messages") == []


def test_the_surface_can_be_left_out(tmp_path):
    with ServedSite(tmp_path, MAGI_COMPAT="0") as site:
        program = AutomationProgram(site)
        assert {program.call("GET", path)[0] for path in ("/plans", "/docs", "/openapi.json")} == {404}
