"""Inquiries as tests need them, and answers of models written out."""

import json

from engine.llm.errors import ServerError
from engine.models import NewDocument
from inquiries.models import ROLES
from inquiries.procedure import submit
from inquiries.rules.limits import InquiryLimits

LAW = "From 1 January 2027 no heat pump may be sold whose refrigerant has a warming potential of 150 or more."
SHEET = "The Norrvik N12 uses R290, whose warming potential is 0.02. It costs 6,350."
DOCUMENTS = tuple(
    NewDocument(title, "text", tuple(text.split("\n")), digit * 64)
    for title, text, digit in (("law.txt", LAW, "0"), ("sheet.txt", SHEET, "1"))
)
QUESTION = "May the Norrvik N12 be sold in 2027?"
NO_PAUSE = InquiryLimits(patience=0)


def inquiry(owner, question=QUESTION, **asked):
    asked = {"limits": NO_PAUSE, "documents": DOCUMENTS, **asked}
    return submit(owner=owner, question=question, models={post: f"test/{post}" for post in ROLES}, **asked)


def planned(*research, expert=("Say whether it may be sold.",)):
    research = research or ("Find the limit of the law.",)
    return json.dumps({"thought": "So it goes.", "research_steps": research, "expert_steps": expert})


def calls(tool, **arguments):
    return json.dumps({"thought": "I look.", "tool": tool, "arguments": json.dumps(arguments), "done": None})


def _done(**work):
    return json.dumps({"thought": "This is it.", "tool": "", "arguments": "", "done": work})


def found(*claims, result="It was found.", there=True):
    """Claims with their quotes: text, source, quote."""
    said = [{"text": text, "quotes": [{"source": source, "quote": quote}]} for text, source, quote in claims]
    return _done(found=there, result=result, claims=said)


def answers(text="It may be sold.", numbers=(1,), answerable=True, **more):
    claims = [{"text": text, "quotes": [], "reasoned_from": list(numbers)}] if numbers else []
    said = {"answerable": answerable, "answer": text, "reasoning": "It follows.", "claims": claims}
    return _done(**{**said, "results_not_needed": [], **more})


def final(answer="[answer] [claim:2]", trace="The law was read."):
    return json.dumps({"final_answer": answer, "final_reasoning_trace": trace})


def passes():
    return json.dumps({"feedback": "It is so.", "decision": "approve"})


def sends_back(words="Name the limit itself."):
    return json.dumps({"feedback": words, "decision": "reject"})


def breaks():
    """An endpoint that is there and errs, and may be asked again at once."""
    failure = ServerError("It broke.")
    failure.retry_after = 0.001
    return failure


LIMIT = ("The limit is 150.", 1, "a warming potential of 150 or more")


def going_well(models, **instead):
    """Answers for every post; `instead`: others for some."""
    usual = {
        "planner": [planned()],
        "critic_planner": [passes()],
        "researcher": [calls("sources.search", words="refrigerant"), found(LIMIT)],
        "critic_researcher": [passes()],
        "expert": [answers()],
        "critic_expert": [passes()],
        "finalizer": [final()],
    }
    for post, said in {**usual, **instead}.items():
        models.will(f"test/{post}", *said)
