"""What came of a run, as a language model would have said it."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from engine.models import Run
from runs.api.objects import run_object
from runs.api.refusals import Refusal
from runs.as_model import AsModel
from runs.face import face_of
from runs.rights import SEE, User

NO_OUTCOME = {"cancelled": "It was cancelled, so nothing came of it."}


class NoAnswer(Refusal):
    """`code`: as the error of a run that failed has it."""

    def __init__(self, status: int, detail: str, code: str, errors: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(status, detail, errors)
        self.code = code


def look(user: User, pk: Any, address: str) -> tuple[Run, dict[str, Any]]:
    """The run as it is now, and its object. Refused where whoever asked may not see it any more."""
    run = SEE.one(Run.objects.all(), user, pk)
    if run is None:
        raise Refusal(404, "There is no such run.")
    row = face_of(run).rows().get(pk=pk)
    return row.run, run_object(row, address)


def answer_of(kind: AsModel, run: Run, told: Mapping[str, Any], names: Sequence[str] | None) -> str:
    """The text, or by these names a JSON object. NoAnswer where nothing came of it: that is never an outcome."""
    if run.outcome is None:
        failed = run.error or {}
        said = NO_OUTCOME.get(run.status) or failed.get("message") or "It failed."
        raise NoAnswer(502, f"{said} {told['url']}", failed.get("code") or run.status)
    facts = _facts(kind, run, told)
    if names is not None:
        return json.dumps({name: facts[name] for name in names}, ensure_ascii=False)
    return _text(run, told, facts)


def _facts(kind: AsModel, run: Run, told: Mapping[str, Any]) -> dict[str, Any]:
    """A person's decision holds in place of what it was before."""
    holds = str((told["override"] or {}).get(face_of(run).outcome_name) or run.outcome)
    shared = {name: told[name] for name in ("title", "id", "url")}
    return {**shared, "outcome": holds, "rehearsal": bool(told.get("rehearsal")), **kind.said(told, holds)}


def _text(run: Run, told: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    word = face_of(run).decided(facts["outcome"])[1].upper()
    notes = [f"Decided by {by['by']} instead: {by['reason']}"] if (by := told["override"]) else []
    notes += ["A rehearsal: no model was asked."] if facts["rehearsal"] else []
    return "\n\n".join([word, *notes, *filter(None, [facts["reason"]]), facts["url"]])


# ---- in the shapes of others ------------------------------------------------------------------------------


def completion(run: Run, told: Mapping[str, Any], model: str, text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return {**_named(run, model, "chat.completion"), "choices": [choice], "usage": usage_of(told)}


def chunk(run: Run, model: str, delta: Mapping[str, Any], *, last: bool = False) -> dict[str, Any]:
    choice = {"index": 0, "delta": dict(delta), "finish_reason": "stop" if last else None, "logprobs": None}
    return {**_named(run, model, "chat.completion.chunk"), "choices": [choice]}


def usage_chunk(run: Run, told: Mapping[str, Any], model: str) -> dict[str, Any]:
    return {**_named(run, model, "chat.completion.chunk"), "choices": [], "usage": usage_of(told)}


def _named(run: Run, model: str, shape: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{run.pk}", "object": shape, "created": seconds_of(run.created), "model": model}


def usage_of(told: Mapping[str, Any]) -> dict[str, int]:
    used = told["usage"]
    read, written = used["input_tokens"] or 0, used["output_tokens"] or 0
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def seconds_of(moment: datetime) -> int:
    return int(moment.timestamp())
