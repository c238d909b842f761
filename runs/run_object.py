"""A run as JSON, in one form for every interface."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from engine.gate_decisions import author_names
from engine.llm.pricing import to_decimal
from engine.models import Gate, GateDecision, ModelCall, Review, Run, TokenUsage, ToolCall, last_override
from runs.approvals.pending import choices_left
from runs.procedure.spec import ProcedureSpec, rows_in, spec_of_run, specs
from runs.procedure.wait_reason import gates_in, gates_of, pending_in, waits_for_gate


def run_object(
    row: Any, address: str, usage: TokenUsage | None = None, gates: Sequence[Gate] | None = None
) -> dict[str, Any]:
    """Build the API object of a row that was read with `ProcedureSpec.rows`; `address` is like https://host.

    The procedure's facts extend or replace the common ones. A redacted run has empty texts and the time of the
    redaction. Pass `usage` and `gates` if they have been read. Procedures that never wait have no gates.
    """
    run = row.run
    face = spec_of_run(run)
    asked = gates_of(run.pk) if face.waits and gates is None else gates or ()
    waits = {"waits": waits_for_gate(run, asked), "gates": [gate_object(gate, address) for gate in asked]}
    return {**_any_run(row, face, address, usage), **(waits if face.waits else {}), **face.facts(row)}


def run_summary(row: Any, address: str, usage: TokenUsage, gates: Sequence[Gate]) -> dict[str, Any]:
    """Build the list entry of a row that was read with `ProcedureSpec.rows_of_list`; `gates` are the pending ones."""
    face = spec_of_run(row.run)
    waits = {"waits": waits_for_gate(row.run, gates), "gates": [gate_summary(gate, address) for gate in gates]}
    return {**_any_run(row, face, address, usage), **(waits if face.waits else {}), **face.facts_of_list(row)}


def _any_run(row: Any, face: ProcedureSpec[Any, Any], address: str, usage: TokenUsage | None) -> dict[str, Any]:
    run = row.run
    return {
        "id": str(run.pk),
        "kind": run.procedure,
        "url": f"{address}/{face.nouns}/{run.pk}/",
        "title": run.title,
        "status": run.status,
        "outcome": run.outcome,
        "revision": run.revision,
        "error": run.error,
        "usage": _usage(usage or run.calls.all().usage()),
        "redacted": isoformat(run.redacted),
        "created": isoformat(run.created),
        "started": isoformat(run.started),
        "ended": isoformat(run.ended),
        "record_hash": row.record_hash,
        "override": _override(face, run),
    }


def run_objects(pks: Sequence[UUID], address: str, kind: str = "") -> list[dict[str, Any]]:
    """Build the objects of many runs in this order, of one procedure or of any.

    The number of queries does not depend on the number of runs.
    """
    usage = ModelCall.objects.usage_of(pks)
    gates = gates_in(pks) if not kind or specs()[kind].waits else {}
    found = rows_in(pks) if not kind else _in_order(specs()[kind].rows().in_bulk(pks), pks)
    return [run_object(row, address, usage[row.pk], gates.get(row.pk, ())) for row in found]


def run_summaries(pks: Sequence[UUID], address: str, kind: str = "") -> list[dict[str, Any]]:
    """Build the list entries of many runs in this order."""
    usage = ModelCall.objects.usage_of(pks)
    gates = pending_in(pks) if not kind or specs()[kind].waits else {}
    rows = specs()[kind].rows_of_list().in_bulk(pks) if kind else {}
    found = _in_order(rows, pks) if kind else rows_in(pks, lambda face: face.rows_of_list())
    return [run_summary(row, address, usage[row.pk], gates.get(row.pk, ())) for row in found]


def _in_order(rows: Mapping[UUID, Any], pks: Sequence[UUID]) -> list[Any]:
    return [rows[pk] for pk in pks if pk in rows]


def _override(face: ProcedureSpec[Any, Any], run: Run) -> dict[str, Any] | None:
    """Return the last override, which does not change the outcome."""
    last = last_override(run.reviews.all())
    if last is None:
        return None
    return {face.outcome_name: last.outcome, "by": last.by, "reason": last.text, "at": isoformat(last.made)}


def review_object(one: Review) -> dict[str, Any]:
    return {"kind": one.kind, "by": one.by, "text": one.text, "outcome": one.outcome, "at": isoformat(one.made)}


def _usage(usage: TokenUsage) -> dict[str, Any]:
    return {
        "calls": usage.calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "estimated": usage.estimated,
        "dollars": to_decimal(usage.cost),
        "lost_attempts": usage.lost,
        "lost_seconds": round(usage.lost_seconds, 2),
    }


def isoformat(moment: datetime | None) -> str | None:
    return moment.isoformat().replace("+00:00", "Z") if moment else None


def gate_object(gate: Gate, address: str) -> dict[str, Any]:
    """Build the full object of a gate, pending or closed."""
    return {
        "id": gate.pk,
        "url": f"{address}/gates/{gate.pk}/",
        "run": str(gate.run_id),
        "step": gate.step,
        "number": gate.number,
        "kind": gate.kind,
        "title": gate.title,
        "text": gate.text,
        "digest": gate.digest,
        "whole": gate.whole or None,
        "cut": gate.cut,
        "state": gate.state,
        "asked": gate.asked or None,
        "effect": gate.effect or None,
        "policy": gate.policy,
        "authors": author_names(gate),
        "council": _council(gate),
        "choices": choices_left(gate),
        "made": isoformat(gate.made),
        "closed": isoformat(gate.closed),
        "expires": isoformat(gate.expires),
        "decisions": [_said(one) for one in gate.decisions.all()],
    }


def gate_summary(gate: Gate, address: str) -> dict[str, Any]:
    return {
        "id": gate.pk,
        "url": f"{address}/gates/{gate.pk}/",
        "kind": gate.kind,
        "title": gate.title,
        "state": gate.state,
        "asked": gate.asked or None,
        "made": isoformat(gate.made),
        "expires": isoformat(gate.expires),
    }


def gate_entry(gate: Gate, address: str) -> dict[str, Any]:
    """Build the list entry of a gate that was read without its text."""
    place = {"run": str(gate.run_id), "step": gate.step, "number": gate.number}
    return {**gate_summary(gate, address), **place, "effect": gate.effect or None}


def tool_call_object(call: ToolCall) -> dict[str, Any]:
    """Build the object of a tool call that was read with its gate."""
    return {
        "step": call.step,
        "number": call.number,
        "tool": call.tool,
        "effect": call.effect,
        "contained": call.contained,
        "status": call.status,
        "arguments": json.loads(call.arguments) if call.arguments else None,
        "output": call.output,
        "output_size": call.output_size,
        "error": call.error,
        "outside": call.outside,
        "gate": call.gate_id,
        "made": isoformat(call.made),
        "ended": isoformat(call.ended),
    }


def _council(gate: Gate) -> dict[str, Any] | None:
    """Describe the council; the run is left out while the gate hides it."""
    if not gate.policy.get("council"):
        return None
    said = gate.council_said or None
    shown = gate.council_id is not None and not gate.hides
    known = gate.policy.get("council_id")
    return {"id": known, "name": gate.policy["council"], "run": str(gate.council_id) if shown else None, "said": said}


def _said(one: GateDecision) -> dict[str, Any]:
    return {
        "by": one.by or None,
        "decision": one.decision,
        "choice": one.choice or None,
        "text": one.text,
        "answer": one.value,
        "judged_by": str(one.judged_by_id) if one.judged_by_id else None,
        "knew_council": one.knew_council,
        "at": isoformat(one.made),
    }
