"""A model endpoint in a process of its own that can debate, and is as strict as some are.

`python -m tests.debates.endpoint FORMATS TEMPLATE`: which response formats it takes, with commas between, and whose
chat template it has (`tests/strict_roles.py`). Each fifth answer is of no use. GET says what it was asked and refused.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

from tests.strict_roles import TEMPLATES, TemplateError

numbers = count(1)
asked: list[dict[str, Any]] = []
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


class Handler(BaseHTTPRequestHandler):
    formats: tuple[str, ...] = ()
    template = "any"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        wanted = body.get("response_format", {}).get("type", "")
        roles = [message["role"] for message in body["messages"]]
        kept = {"format": wanted, "roles": roles, "refused": ""}
        asked.append(kept)
        try:
            TEMPLATES[self.template](body["messages"])
        except TemplateError as error:
            kept["refused"] = str(error)
            return self.reply(400, {"error": {"message": str(error), "code": 400}})
        if wanted and wanted not in self.formats:
            kept["refused"] = wanted
            return self.reply(400, {"error": {"message": f"Unsupported value: response_format {wanted}"}})
        number = next(numbers)
        text = json.dumps(answer(body["messages"], number)) if number % 5 else "I would rather not say."
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return self.reply(200, {"model": body["model"], "choices": [choice]})

    def do_GET(self) -> None:
        self.reply(200, asked)

    def reply(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    Handler.formats, Handler.template = tuple(sys.argv[1].split(",")), sys.argv[2]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
