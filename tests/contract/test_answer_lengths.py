"""How long answers may be, in tokens and with what is thought before them: by what each form can say."""

import asyncio
from pathlib import Path

import pytest

from engine.llm.client import ModelClient
from engine.llm.response_format import LONGEST_ANSWER, tokens_for
from missions.procedure import SHORTER, SUMMARY
from tests.contract import EXAMPLES, play

PAGE = Path(__file__).parents[2] / "docs" / "tokens.md"
BOUNDS = {
    "decision": 4_096,
    "first": 3_584,
    "message": 5_888,
    "closing": 4_608,
    "timekeeper": 3_328,
    "inquiry-plan": 4_864,
    "inquiry-researcher": LONGEST_ANSWER,  # arguments of tools
    "inquiry-expert": LONGEST_ANSWER,
    "inquiry-review": 4_096,
    "inquiry-final": 4_864,
    "plan": LONGEST_ANSWER,  # twenty steps
    "plan-move": LONGEST_ANSWER,
    "plan-summary": 3_584,
    "mission-step": LONGEST_ANSWER,
}


class Recording(ModelClient):
    bounds: dict[str, int]

    async def ask(self, model, messages, form, *rest):
        self.bounds[form.name] = form.max_tokens
        return await super().ask(model, messages, form, *rest)


@pytest.mark.django_db
def test_each_form_of_an_answer_has_a_bound_by_what_it_can_say(mira):
    models = Recording(timeout=20)
    models.bounds = {}
    for name in ("judgement", "debate", "inquiry", "plan", "mission"):
        assert asyncio.run(play(EXAMPLES[name](mira).run.pk, models)).outcome, name
    assert models.bounds == BOUNDS
    alone = {"mission-memory": SHORTER.max_tokens, "mission-summary": SUMMARY.max_tokens}
    assert alone == {"mission-memory": 3_584, "mission-summary": 5_120}
    rows = [f"| {name} | {bound:,} |" for name, bound in (models.bounds | alone).items()]
    assert [one for one in rows if one not in PAGE.read_text()] == []


def test_a_bound_has_room_for_thoughts_and_no_more_than_endpoints_promise():
    assert [tokens_for(one) for one in (0, 1_000, 4_000, 20_000, 40_000)] == [3_072, 3_328, 4_096, 8_192, 8_192]
