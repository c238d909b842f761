"""What every procedure's tests lend the contract: how one of its runs is asked for."""

from collections.abc import Callable
from typing import Any

from judgements.models import Judgement
from tests.checking.models import Check
from tests.conftest import JAPAN, agents

MARKER = "Xylophone"  # in every text that somebody wrote


def judgement(owner: Any) -> Judgement:
    trio = [{**agent, "model": "rehearsal/instant"} for agent in agents()]
    return Judgement.objects.submit(owner=owner, title=f"{MARKER} title", content=f"{JAPAN} {MARKER}.", agents=trio)


def check(owner: Any) -> Check:
    asked = {"writer": "rehearsal/instant", "checker": "rehearsal/instant"}
    return Check.objects.submit(owner=owner, question=f"Is a {MARKER} an instrument?", **asked)


EXAMPLES: dict[str, Callable[[Any], Any]] = {"judgement": judgement, "check": check}
