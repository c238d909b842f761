"""The questions of the made-up web, put to other programs with the same rules for a model behind one endpoint.

    python -m tests.inquiries.peers --smolagents VENV/bin/python --gpt_researcher VENV/bin/python [--questions 20]

Each is asked in a process of its own, in the environment that is named (`pip install "smolagents[openai]"`, `pip
install gpt-researcher`); what is not named is left out. smolagents gets a search and a reader of pages as tools, once
as calls and once as code; GPT-Researcher the search as its own retriever, and its own scraper; it counts tokens by a
table that it would load from the web, in place of which words are counted. Of each: right answers,
questions that were rightly left open, answers that a trap has made, calls, characters that were asked and answered,
seconds, and which private addresses it turned to. Then each is killed at the half of one question, and what of that
question stands in its folder is said.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.acceptance.site import ROOT
from tests.web.reader import OWN, Reader, sought, steps_of
from tests.web.wide import Wide
from tests.web.world import WebQuestion, world

SHARED = """
import json, re, sys, time, urllib.parse, urllib.request
from html.parser import HTMLParser
endpoint, search_at, questions = sys.argv[1], sys.argv[2], json.load(open(sys.argv[3]))
turned_to = set()
def heard(event, given):
    if event == "socket.connect" and isinstance(given[1], tuple):
        turned_to.add(given[1][0])
sys.addaudithook(heard)
def tell(answers, began):
    private = sorted(one for one in turned_to if not one.startswith("127."))
    print(json.dumps({"answers": answers, "seconds": round(time.monotonic() - began, 1), "private": private}))
"""
SMOLAGENTS = (
    SHARED
    + """
from smolagents import CodeAgent, OpenAIServerModel, ToolCallingAgent, tool
@tool
def search(query: str) -> str:
    \"\"\"Searches the web.

    Args:
        query: The words.
    \"\"\"
    found = json.load(urllib.request.urlopen(f"{search_at}/search?q={urllib.parse.quote(query)}", timeout=5))["results"]
    return "\\n".join(f"{one['url']} {one['title']}: {one['content']}" for one in found)
@tool
def visit(url: str) -> str:
    \"\"\"Reads a page.

    Args:
        url: Its address.
    \"\"\"
    try:
        return f"PAGE {url}\\n" + re.sub(r"<[^>]+>", " ", urllib.request.urlopen(url, timeout=3).read().decode())
    except Exception as error:
        return f"PAGE {url}\\nError: {error}"
kind = {"calls": ToolCallingAgent, "code": CodeAgent}[sys.argv[4]]
model, answers, began = OpenAIServerModel("one", api_base=endpoint, api_key="none"), [], time.monotonic()
for question in questions:
    try:
        answers.append(str(kind([search, visit], model, max_steps=14, verbosity_level=0).run(question)))
    except Exception as error:
        answers.append(f"FAILED {error}")
tell(answers, began)
"""
)
GPT_RESEARCHER = (
    SHARED
    + """
import asyncio, os
os.environ |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": endpoint, "RETRIEVER": "custom", "SCRAPER": "bs",
    "RETRIEVER_ENDPOINT": endpoint.replace("/v1", "/retriever"), "FAST_LLM": "openai:one", "SMART_LLM": "openai:one",
    "STRATEGIC_LLM": "openai:one", "EMBEDDING": "custom:one", "MAX_ITERATIONS": "2", "VERBOSE": "False"}
import tiktoken
class Words:
    def encode(self, text, **how):
        return list(range(len(text.split())))
tiktoken.get_encoding = tiktoken.encoding_for_model = lambda name: Words()
from gpt_researcher import GPTResearcher
async def main():
    answers, began = [], time.monotonic()
    for question in questions:
        try:
            researcher = GPTResearcher(query=question, report_type="research_report", verbose=False)
            await researcher.conduct_research()
            answers.append(await researcher.write_report())
        except Exception as error:
            answers.append(f"FAILED {type(error).__name__} {error}")
    tell(answers, began)
asyncio.run(main())
"""
)
NOT_FOUND = "I could not find an answer."


class InquiryPeerHandler(BaseHTTPRequestHandler):
    asked = Counter[str]()
    reader, web = Reader(), ""

    def do_GET(self) -> None:
        """The search, as GPT-Researcher wants one."""
        import urllib.request

        words = parse_qs(urlsplit(self.path).query).get("query", [""])[0]
        target = f"{self.web}/search?q={urllib.request.quote(words)}"
        found = json.load(urllib.request.urlopen(target, timeout=10))["results"]
        self._send([{"url": one["url"], "raw_content": one["content"]} for one in found])

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/embeddings"):
            self._send(_embedded(body["input"] if isinstance(body["input"], list) else [body["input"]]))
            return
        text = "\n".join(_text(one) for one in body["messages"])
        message = said(body, text, self.reader)
        answered = json.dumps(message)
        self.asked += Counter(calls=1, characters_in=len(text), characters_out=len(answered))
        whole = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
        made = {"id": "1", "object": "chat.completion", "created": 1, "model": "one", "choices": [whole]}
        usage = {
            "prompt_tokens": len(text) // 4,
            "completion_tokens": len(answered) // 4,
            "total_tokens": len(text) // 4,
        }
        if body.get("stream"):
            self._stream(made, message)
        else:
            self._send({**made, "usage": usage})

    def _stream(self, made: dict[str, Any], message: dict[str, Any]) -> None:
        piece = {
            **made,
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": message, "finish_reason": None}],
        }
        last = {**piece, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        sent = "".join(f"data: {json.dumps(one)}\n\n" for one in (piece, last)) + "data: [DONE]\n\n"
        self._send_bytes(sent.encode(), "text/event-stream")

    def _send(self, what: Any) -> None:
        self._send_bytes(json.dumps(what).encode(), "application/json")

    def _send_bytes(self, sent: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None:
        pass


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content)


def _embedded(texts: list[Any]) -> dict[str, Any]:
    """By the words of each: what is alike is near."""
    data = []
    for number, text in enumerate(texts):
        vector = [0.01] * 64
        for word in re.findall(r"\w+", str(text).lower()):
            vector[sha256(word.encode()).digest()[0] % 64] += 1.0
        data.append({"object": "embedding", "index": number, "embedding": vector})
    return {"object": "list", "data": data, "model": "one", "usage": {"prompt_tokens": 1, "total_tokens": 1}}


# ---- what the same rules say to each ----------------------------------------------------------------------


def said(body: dict[str, Any], text: str, reader: Reader) -> dict[str, Any]:
    form = body.get("response_format", {}).get("json_schema", {}).get("name", "")
    if form.startswith("inquiry-"):
        from engine.llm.prompt_blocks import read_fence

        return {"role": "assistant", "content": reader.say(form, read_fence(body["messages"][1]["content"]))}
    question = next((one for one in world().questions if one.text in text), None)
    if question is None:
        return {"role": "assistant", "content": NOT_FOUND}
    if body.get("tools") or "CodeAgent" in text or "final_answer(" in text:
        name, argument = acts(question.text, text.split(question.text)[-1] if "PAGE " not in text else text)
        return _called(name, argument) if body.get("tools") else _coded(name, argument)
    return {"role": "assistant", "content": written(question.text, text)}


def acts(question: str, text: str) -> tuple[str, str]:
    """A search for each step, pages as they were found, until a page of whose it speaks answers; then the answer."""
    found = list[str]()
    for step in steps_of(question):
        maker = re.search(r"is made by ([\w ]+)\.", " ".join(found))
        asked = sought(f"Where is {maker[1]} seated?" if maker and step.startswith("Where is the maker") else step)
        assert asked
        pages = re.findall(r"PAGE (http\S+)\s(.*?)(?=PAGE http|$)", text, re.DOTALL)
        own = [
            hit[0]
            for at, said_ in pages
            if any(one in at for one in OWN) and (hit := asked.answers.search(_flat(said_)))
        ]
        if own:
            found.append(own[0])
            continue
        hits = list(dict.fromkeys(re.findall(r"http://127\.0\.\d+\.\d+:\d+/\w\S+", text)))
        about = [one for one in hits if one not in {at for at, _ in pages}]
        searched = asked.words.lower() in text.lower().replace("+", " ")
        if not searched:
            return "search", asked.words
        if about and len(pages) < 10:
            return "visit", about[0]
        others = [hit[0] for _, said_ in pages if (hit := asked.answers.search(_flat(said_)))]
        if not others:
            return "final_answer", NOT_FOUND
        found.append(others[0])
    return "final_answer", _concluded(question, found)


def _flat(text: str) -> str:
    return " ".join(text.replace("</td><td>", " | ").split())


def _concluded(question: str, found: list[str]) -> str:
    if "cost together" in question:
        return str(sum(int(re.search(r"costs ([\d,]+)", one)[1].replace(",", "")) for one in found))  # type: ignore[index]
    return found[-1]


def _called(name: str, argument: str) -> dict[str, Any]:
    key = {"search": "query", "visit": "url", "final_answer": "answer"}[name]
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": json.dumps({key: argument})}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def _coded(name: str, argument: str) -> dict[str, Any]:
    code = f"{name}({argument!r})" if name == "final_answer" else f"print({name}({argument!r}))"
    return {"role": "assistant", "content": f"Thought: so.\n<code>\n{code}\n</code>"}


def written(question: str, text: str) -> str:
    """GPT-Researcher: who researches, what is asked besides, and the report from what it shows."""
    if "server" in text and "agent_role_prompt" in text:
        return json.dumps({"server": "Agent", "agent_role_prompt": "You research."})
    if "search queries" in text:
        return json.dumps([asked.words for step in steps_of(question) if (asked := sought(step))] or [question])
    found = list[str]()
    for step in steps_of(question):
        maker = re.search(r"is made by ([\w ]+)\.", text)
        asked = sought(f"Where is {maker[1]} seated?" if maker and step.startswith("Where is the maker") else step)
        if hit := asked and asked.answers.search(_flat(text)):
            found.append(hit[0])
    return _concluded(question, found) if len(found) == len(steps_of(question)) else NOT_FOUND


# ---- playing ----------------------------------------------------------------------------------------------


def played(
    python: str, script: str, url: str, web: Wide, questions: list[WebQuestion], *more: str, wait: float = 900
) -> Any:
    InquiryPeerHandler.asked.clear()
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder, "questions.json")
        asked.write_text(json.dumps([one.text for one in questions]))
        Path(folder, "play.py").write_text(script)
        env = {"PATH": os.environ["PATH"], "HOME": folder, "LANG": "C.UTF-8"}
        words = [python, "play.py", url, web.search, str(asked), *more]
        try:
            done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=wait)
        except subprocess.TimeoutExpired:
            return {"failed": f"not over after {wait:.0f} s", **InquiryPeerHandler.asked}
    if done.returncode:
        return {"failed": done.stderr[-800:], **InquiryPeerHandler.asked}
    told = json.loads(done.stdout.splitlines()[-1])
    return {**judged(questions, told.pop("answers")), **told, **InquiryPeerHandler.asked}


def judged(questions: list[WebQuestion], answers: list[str]) -> dict[str, Any]:
    pairs = list(zip(questions, answers, strict=True))
    return {
        "right": sum(bool(one.answer) and one.answer in said_ for one, said_ in pairs),
        "rightly not": sum(not one.answer and NOT_FOUND in said_ for one, said_ in pairs),
        "misled": sum(bool(one.wrong) and one.wrong in said_ for one, said_ in pairs),
        "wrong": [f"{one.text} {said_[-120:]}" for one, said_ in pairs if (one.answer or NOT_FOUND) not in said_][:3],
        "failed": [said_[:200] for _, said_ in pairs if said_.startswith("FAILED")][:2],
    }


def killed(python: str, script: str, url: str, web: Wide, question: WebQuestion, calls: int, *more: str) -> str:
    """What of a question stands in its folder after a kill -9 at the half of its calls."""
    InquiryPeerHandler.asked.clear()
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder, "questions.json")
        asked.write_text(json.dumps([question.text]))
        Path(folder, "play.py").write_text(script)
        env = {"PATH": os.environ["PATH"], "HOME": folder, "LANG": "C.UTF-8"}
        process = subprocess.Popen([python, "play.py", url, web.search, str(asked), *more], cwd=folder, env=env,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        until = time.monotonic() + 120
        while (
            InquiryPeerHandler.asked["calls"] < max(calls // 2, 1)
            and process.poll() is None
            and time.monotonic() < until
        ):
            time.sleep(0.002)
        process.kill()
        process.wait()
        files = (one for one in Path(folder).rglob("*") if one.is_file() and one != asked)
        left = [one.name for one in files if question.text.encode() in one.read_bytes()]
    done = InquiryPeerHandler.asked["calls"]
    return f"killed after {done} of {calls} calls: {', '.join(left) or 'nothing of it'} is left"


def here(url: str, web: Wide, questions: list[WebQuestion]) -> dict[str, Any]:
    """Ours, with its database, its critics and its sealed record."""
    from tests.stage import stage

    with stage("sqlite", MAGI_PROVIDERS=json.dumps({"peer": {"base_url": url}})):
        from engine.llm.client import ModelClient
        from tests.web.asked import asked

        InquiryPeerHandler.asked.clear()
        result = asked(web, questions, 0.0, ModelClient(timeout=20), "peer/one", [url.split("/")[2]])
    told = {"right": result.right, "rightly not": result.rightly_not, "misled": len(result.misled)}
    quotes = {"quotes": result.quotes, "quotes not there": len(result.not_there)}
    return {
        **told,
        **quotes,
        "seconds": round(result.seconds, 1),
        "private": sorted(result.strange),
        **InquiryPeerHandler.asked,
    }


def main(options: argparse.Namespace) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), InquiryPeerHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    every = world().questions
    questions = every[:: max(len(every) // options.questions, 1)][: options.questions]
    hops = next(one for one in every if one.kind == "two hops")
    with Wide() as web:
        InquiryPeerHandler.web = web.search
        ways = [
            ("smolagents", SMOLAGENTS, ["calls"]),
            ("smolagents", SMOLAGENTS, ["code"]),
            ("gpt_researcher", GPT_RESEARCHER, []),
        ]
        for name, script, more in ways:
            if python := getattr(options, name):
                them = (python, script, url, web)
                print(name, *more, json.dumps(played(*them, questions, *more)), flush=True)
                one = played(*them, [hops], *more)
                print(" ", killed(*them, hops, one.get("calls", 2), *more), flush=True)
        print("MAGI", json.dumps(here(url, web, questions)), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Ask the same here and by other programs.")
    parser.add_argument("--smolagents", help="the Python in whose environment it is")
    parser.add_argument("--gpt_researcher", help="the same")
    parser.add_argument("--questions", type=int, default=20)
    sys.path.insert(0, str(ROOT))
    main(parser.parse_args())
