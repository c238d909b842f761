"""Each schema becomes a grammar, as llama.cpp makes it and as llguidance does, which vLLM and SGLang use. Nothing is
inferred: the prompt is longer than the model reads, which the server says only after it has made the grammar."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from engine.runtime.procedure import procedures
from tests.conftest import need
from tests.real.llama import Llama, small_model
from tests.real.schemas import schemas
from tests.waiting import wait_until

pytestmark = [pytest.mark.real, pytest.mark.slow]
CONTEXT = 256
BEYOND = "word " * 2 * CONTEXT
NO_GRAMMAR = {"type": "array", "items": {"type": "string", "maxLength": 30_000}, "minItems": 99_999}
NO_REGEX = {"type": "string", "pattern": "(?=ahead)"}


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Llama]:
    found = small_model()
    need("model", bool(found), "`make var/real/installed` has brought no model")
    with Llama(found, tmp_path_factory.mktemp("llama") / "log", slots=1, context=CONTEXT) as llama:
        yield llama


def said(address: str, body: dict[str, Any]) -> str:
    request = Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with build_opener(ProxyHandler({})).open(request, timeout=300) as response:
            return response.read().decode()
    except HTTPError as error:
        return error.read().decode()


def by_llama(llama: Llama, name: str, schema: dict[str, Any]) -> str:
    """What is wrong with the grammar; empty where it was made."""
    form = {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}
    body = {"messages": [{"role": "user", "content": BEYOND}], "response_format": form}
    answer = said(f"{llama.base_url}/chat/completions", body)
    return "" if "exceed_context_size" in answer else answer


def by_llguidance(llama: Llama, schema: dict[str, Any]) -> str:
    """The same, but for what only the log says, some time later."""
    answer = said(llama.base_url.removesuffix("v1") + "completion", {"prompt": BEYOND, "json_schema": schema})
    return "" if "exceed_context_size" in answer else answer


def test_every_schema_that_is_sent_becomes_a_grammar(llama: Llama) -> None:
    assert "failed to parse grammar" in by_llama(llama, "none", NO_GRAMMAR)
    found = {json.dumps(schema): name for name, schema in schemas()}
    wrong = [f"{name}: {why}" for text, name in found.items() if (why := by_llama(llama, name, json.loads(text)))]
    wrong += [f"{name}: {why}" for text, name in found.items() if (why := by_llguidance(llama, json.loads(text)))]
    by_llguidance(llama, NO_REGEX)  # the last: what the log says of it stands behind all else

    def told() -> str:
        log = llama.log.read_text(errors="replace")
        return log if "regex parse error" in log else ""

    log = wait_until(told, "what the log says of the last one")
    assert (wrong, log.count("llg error")) == ([], 1), log[-5000:]


def test_no_form_is_left_out() -> None:
    known = {form for name, one in procedures().items() if name != "check" for form in one.rehearsals}
    assert {name for name, _ in schemas()} == known | {"health"}
