"""How long the requests of each procedure are, in docs/tokens.md, and that they have room in small models."""

from pathlib import Path

import pytest

from engine.llm.tokens import ANSWER, prompt_tokens
from judgements import prompts as judging
from tests.contract.request_tokens import judgement, read_anew, table

PAGE = Path(__file__).parents[2] / "docs" / "tokens.md"
RUN = ["0b5e7a3c"] * 3


@pytest.fixture(autouse=True)
def small(settings):
    settings.PROVIDERS = {"small": {"base_url": "http://127.0.0.1:9/v1", "api_key": "none", "contexts": {"8k": 8_192}}}


def test_the_table_is_that_of_the_prompts():
    assert table() in PAGE.read_text()


def test_a_judgement_fits_models_that_read_4096_tokens():
    assert max(map(prompt_tokens, judgement(judging.VERSION, RUN))) + ANSWER <= 4_096


def test_of_the_rounds_of_an_agent_a_server_reads_less_than_half_anew():
    now, before = judgement(judging.VERSION, RUN), judgement("1", [digit * 32 for digit in "1a7"])
    assert read_anew(now) * 2 < sum(map(prompt_tokens, now))
    assert read_anew(now) * 2 < read_anew(before)
