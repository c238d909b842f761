"""A model endpoint that can debate, and is as strict as some are: it takes the response formats `formats`, and has the
chat template `template` (`tests/strict_roles.py`). Each fifth answer is of no use."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

from tests.strict_roles import TEMPLATES, TemplateError

WORDS = "alpha bravo cedar delta ember fjord grove haven islet jetty knoll ledge marsh north ocean plain quarry".split()


def answer(messages: list[dict[str, str]], number: int) -> dict[str, Any]:
    said = " ".join(WORDS[(number * (place + 3)) % len(WORDS)] + str(number) for place in range(12))
    stated = {"verdict": "HIRE" if number % 2 else "DO NOT HIRE", "verdict_reasoning": f"For reason {number}."}
    floor = messages[-1]["content"].rpartition("<Floor ")[2]
    if 'why="first"' in floor:
        return {**stated, "confidence": 60}
    if 'why="closing"' in floor:
        return {"content": f"My last word, {said}.", **stated, "moved_by": []}
    spoken = {"speaking_to": ["everyone"], "expects_answer": False, "content": f"I say {said}.", "points": []}
    return {**spoken, "artifact": None, **stated, "moved_by": [], "withdrawn": False}


class DebateServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, formats: tuple[str, ...], template: str) -> None:
        super().__init__(("127.0.0.1", 0), DebateHandler)
        self.formats, self.template = formats, template
        self.numbers, self.refused = count(1), set[str]()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def complaint(self, body: dict[str, Any]) -> str:
        try:
            TEMPLATES[self.template](body["messages"])
        except TemplateError as error:
            return str(error)
        wanted = body.get("response_format", {}).get("type", "")
        return f"Unsupported value: response_format {wanted}" if wanted and wanted not in self.formats else ""


class DebateHandler(BaseHTTPRequestHandler):
    server: DebateServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if refused := self.server.complaint(body):
            self.server.refused.add(refused)
            return self.reply(400, {"error": {"message": refused, "code": 400}})
        number = next(self.server.numbers)
        text = json.dumps(answer(body["messages"], number)) if number % 5 else "I would rather not say."
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return self.reply(200, {"model": body["model"], "choices": [choice]})

    def reply(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(formats: tuple[str, ...], template: str) -> Iterator[DebateServer]:
    with DebateServer(formats, template) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()
