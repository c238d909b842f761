"""The result of a run as a chat completion."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from engine.models import Run
from runs.api.errors import ApiError
from runs.procedure.exposure import ChatModel
from runs.procedure.spec import spec_of_run
from runs.rights import SEE, User
from runs.run_object import run_object

NO_OUTCOME_TEXT = {"cancelled": "It was cancelled, so nothing came of it."}


class NoAnswerYet(ApiError):
    """The run has no outcome. `code` is the error code of a failed run."""

    def __init__(self, status: int, detail: str, code: str, errors: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(status, detail, errors)
        self.code = code


def read_run(user: User, pk: Any, address: str) -> tuple[Run, dict[str, Any]]:
    """Return the current run and its API object. Raises ApiError if the user may no longer see it."""
    run = SEE.one(Run.objects.all(), user, pk)
    if run is None:
        raise ApiError(404, "There is no such run.")
    row = spec_of_run(run).rows().get(pk=pk)
    return row.run, run_object(row, address)


def answer_text(kind: ChatModel, run: Run, told: Mapping[str, Any], names: Sequence[str] | None) -> str:
    """Return the answer as text, or as a JSON object with these names. Raises NoAnswerYet without an outcome."""
    if run.outcome is None:
        failed = run.error or {}
        said = NO_OUTCOME_TEXT.get(run.status) or failed.get("message") or "It failed."
        raise NoAnswerYet(502, f"{said} {told['url']}", failed.get("code") or run.status)
    facts = _facts(kind, run, told)
    if names is not None:
        return json.dumps({name: facts[name] for name in names}, ensure_ascii=False)
    return _text(run, told, facts)


def _facts(kind: ChatModel, run: Run, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts; an override replaces the outcome."""
    holds = str((told["override"] or {}).get(spec_of_run(run).outcome_name) or run.outcome)
    shared = {name: told[name] for name in ("title", "id", "url")}
    return {**shared, "outcome": holds, "rehearsal": bool(told.get("rehearsal")), **kind.said(told, holds)}


def _text(run: Run, told: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    word = spec_of_run(run).outcome_filter(facts["outcome"])[1].upper()
    notes = [f"Decided by {by['by']} instead: {by['reason']}"] if (by := told["override"]) else []
    notes += ["A rehearsal: no model was asked."] if facts["rehearsal"] else []
    return "\n\n".join([word, *notes, *filter(None, [facts["reason"]]), facts["url"]])


# ---- OpenAI formats ---------------------------------------------------------------------------------------


def completion(run: Run, told: Mapping[str, Any], model: str, text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return {**_named(run, model, "chat.completion"), "choices": [choice], "usage": usage_object(told)}


def chunk(run: Run, model: str, delta: Mapping[str, Any], *, last: bool = False) -> dict[str, Any]:
    choice = {"index": 0, "delta": dict(delta), "finish_reason": "stop" if last else None, "logprobs": None}
    return {**_named(run, model, "chat.completion.chunk"), "choices": [choice]}


def usage_chunk(run: Run, told: Mapping[str, Any], model: str) -> dict[str, Any]:
    return {**_named(run, model, "chat.completion.chunk"), "choices": [], "usage": usage_object(told)}


def _named(run: Run, model: str, shape: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{run.pk}", "object": shape, "created": unix_seconds(run.created), "model": model}


def usage_object(told: Mapping[str, Any]) -> dict[str, int]:
    used = told["usage"]
    read, written = used["input_tokens"] or 0, used["output_tokens"] or 0
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def unix_seconds(moment: datetime) -> int:
    return int(moment.timestamp())
