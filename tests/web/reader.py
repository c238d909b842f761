"""A model that answers by stated rules: it understands the few ways in which the questions of `world` are put. It
searches, reads what was found until it is a page of whose it speaks, and quotes the sentence that answers. A share of
its answers may be faulty.
"""

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FAULTS = ("quote", "form", "address", "endless")
READ = 5  # pages of a search
TOGETHER = 3  # that are read at once, where the first one did not do
ASKS = (  # how a question is put; the words to search by; and what answers it
    (r"What does the (?P<of>[\w ]+) cost\?", "{of} costs", r"The {of} costs [\d,]+ euros\."),
    (r"When was the (?P<of>[\w ]+) first sold\?", "{of} first sold", r"The {of} was first sold in \d+\."),
    (r"Which refrigerant does the (?P<of>[\w ]+) use\?", "{of} refrigerant", r"The {of} uses the refrigerant \w+\."),
    (r"Who makes the (?P<of>[\w ]+)\?", "{of} made", r"The {of} is made by [\w ]+\."),
    (r"Where is (?P<of>[\w ]+) seated\?", "{of} seated", r"{of} is seated in \w+\."),
    (r"How loud is the (?P<of>[\w ]+)\?", "{of} noise", r"{of}[\s|]+\w+[\s|]+\d+ dB"),
    (r"How long is the warranty of the (?P<of>[\w ]+)\?", "{of} warranty", r"The {of} has a warranty of \w+ years\."),
)
OWN = ("/products/", "/about", "/noise")  # pages of whoever makes or measures what they speak of


@dataclass(frozen=True)
class Sought:
    words: str
    answers: re.Pattern[str]


def sought(question: str) -> Sought | None:
    for put, words, answers in ASKS:
        if found := re.fullmatch(put, question):
            of = found["of"]
            return Sought(words.format(of=of), re.compile(answers.replace("{of}", re.escape(of))))
    return None


def steps_of(question: str) -> list[str]:
    """Questions that can be looked up, one after the other."""
    if found := re.fullmatch(r"Where is the maker of the ([\w ]+) seated\?", question):
        return [f"Who makes the {found[1]}?", question]
    if found := re.fullmatch(r"What do the ([\w ]+) and the ([\w ]+) cost together\?", question):
        return [f"What does the {name} cost?" for name in found.groups()]
    return [question]


def named(step: str, found_so_far: Sequence[Mapping[str, Any]]) -> str:
    """The step, with the name that an earlier one has found."""
    said = " ".join(claim["text"] for one in found_so_far for claim in one["claims"])
    maker = re.search(r"is made by ([\w ]+)\.", said)
    return f"Where is {maker[1]} seated?" if maker and step.startswith("Where is the maker") else step


class Reader:
    """`share` of what it says with tools is faulty, by dice that are thrown anew for each question."""

    def __init__(self, share: float = 0.0, seed: int = 1) -> None:
        self.share, self.seed = share, seed
        self.dice: dict[str, random.Random] = {}

    def say(self, form: str, given: Mapping[str, Any]) -> str:
        said = getattr(self, f"_{form.removeprefix('inquiry-')}")(given)
        return self._faulty(form, given, said) if self._is_faulty(form, given["question"]) else json.dumps(said)

    def _is_faulty(self, form: str, question: str) -> bool:
        dice = self.dice.setdefault(question, random.Random(f"{self.seed} {question}"))
        return form in ("inquiry-researcher", "inquiry-expert") and dice.random() < self.share

    def _faulty(self, form: str, given: Mapping[str, Any], said: dict[str, Any]) -> str:
        match self.dice[given["question"]].choice(FAULTS):
            case "quote" if said.get("done") and said["done"]["claims"]:
                return json.dumps(_misquoting(said))
            case "address" if form == "inquiry-researcher":
                return json.dumps(_use("web.read", address=f"http://made.up.example/{given['step']['number']}"))
            case "endless" if given["moves"] and given["moves"][0]["tool"]:
                first = given["moves"][0]
                return json.dumps(
                    {"thought": "Once more.", "tool": first["tool"], "arguments": first["arguments"], "done": None}
                )
        return json.dumps(said)[:-7]

    def _plan(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "thought": "So.",
            "research_steps": steps_of(given["question"]),
            "expert_steps": ["Answer with what was found."],
        }

    def _review(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {"feedback": "It is so.", "decision": "approve"}

    def _researcher(self, given: Mapping[str, Any]) -> dict[str, Any]:
        asked = sought(named(given["step"]["text"], given["found_so_far"]))
        if asked is None:
            return _done(found=False, result="It is not known whose it is.", claims=[])
        searches = [one for one in given["moves"] if one["tool"] == "web.search" and "http" in one["result"]]
        if not searches:
            return _use("web.search", query=asked.words) if not given["moves"] else _nothing()
        own, others = self._read(given["moves"], asked)
        to_read = [
            one for one in _hits(searches[-1]["result"]) if one not in {_address(move) for move in given["moves"]}
        ]
        if own or not to_read or given["left"]["moves"] <= 2:
            return _claiming(own or others)
        more = to_read[1:TOGETHER] if len(_hits(searches[-1]["result"])) > len(to_read) else []  # the first one alone
        others = [{"tool": "web.read", "arguments": json.dumps({"address": one})} for one in more]
        return _use("web.read", address=to_read[0]) | {"also": others}

    def _read(self, moves: Sequence[Mapping[str, Any]], asked: Sought) -> tuple[Any, Any]:
        """A source and the sentence of it that answers: of a page of its own, and of any other."""
        own = others = None
        for move in moves:
            number = re.match(r"\[(\d+)\]", move["result"])
            found = asked.answers.search(move["result"]) if move["tool"] == "web.read" and number else None
            if found and any(place in _address(move) for place in OWN):
                own = own or (int(number[1]), found[0])
            elif found:
                others = others or (int(number[1]), found[0])
        return own, others

    def _expert(self, given: Mapping[str, Any]) -> dict[str, Any]:
        claims = [claim for one in given["results"] for claim in one["claims"]]
        needed = [{"step": one["step"], "why": "Nothing was found."} for one in given["results"] if not one["claims"]]
        if len({one["step"] for one in given["results"] if one["claims"]}) < len(given["results"]):
            nothing = {"answerable": False, "answer": "It is said nowhere.", "reasoning": "", "claims": []}
            return _done(**nothing, results_not_needed=needed)
        if "cost together" in given["question"]:
            return self._sum(given, claims)
        said = {"text": claims[-1]["text"], "reasoned_from": [one["number"] for one in claims], "quotes": []}
        return _done(
            answerable=True,
            answer=claims[-1]["text"],
            reasoning="It stands there.",
            claims=[said],
            results_not_needed=[],
        )

    def _sum(self, given: Mapping[str, Any], claims: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        prices = [re.search(r"costs ([\d,]+)", one["text"])[1].replace(",", "") for one in claims]
        for move in given["moves"]:
            if found := re.search(r"\[(\d+)\] A calculation:\n(.* = (\d+))", move["result"]):
                quotes = [{"source": int(found[1]), "quote": found[2]}]
                claim = {
                    "text": f"Together {found[3]} euros.",
                    "reasoned_from": [one["number"] for one in claims],
                    "quotes": quotes,
                }
                return _done(
                    answerable=True, answer=claim["text"], reasoning="Added.", claims=[claim], results_not_needed=[]
                )
        return _use("figures.calculate", expression=" + ".join(prices))

    def _final(self, given: Mapping[str, Any]) -> dict[str, Any]:
        said = " ".join(["[answer]", *(f"[claim:{one['number']}]" for one in given["claims"])])
        return {"final_answer": said, "final_reasoning_trace": "It was looked up."}


def _use(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"thought": "I look.", "tool": tool, "arguments": json.dumps(arguments), "done": None}


def _done(**work: Any) -> dict[str, Any]:
    return {"thought": "This is it.", "tool": "", "arguments": "", "done": work}


def _nothing() -> dict[str, Any]:
    return _done(found=False, result="Nothing was found.", claims=[])


def _claiming(found: tuple[int, str] | None) -> dict[str, Any]:
    if found is None:
        return _nothing()
    source, sentence = found
    return _done(
        found=True, result=sentence, claims=[{"text": sentence, "quotes": [{"source": source, "quote": sentence}]}]
    )


def _misquoting(said: dict[str, Any]) -> dict[str, Any]:
    """Each number of its quotes is another."""
    wrong = json.loads(json.dumps(said))
    for claim in wrong["done"]["claims"]:
        for quote in claim["quotes"]:
            quote["quote"] = re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 10), quote["quote"]) + " Surely."
    return wrong


def _hits(result: str) -> list[str]:
    """Addresses in the order in which they were found: what lays a trap comes first."""
    return re.findall(r"^http\S+$", result, re.MULTILINE)[:READ]


def _address(move: Mapping[str, Any]) -> str:
    return move["arguments"].get("address", "") if move["tool"] == "web.read" else ""
