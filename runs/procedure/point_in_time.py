"""The state of rows at a moment in the past, computed from the current run, model calls and related rows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from datetime import datetime
from typing import Any, TypeVar, cast

from engine.models import ModelCall, Run

Row = TypeVar("Row")


def row_at_moment(row: Row, moment: datetime) -> Row:
    """Return a copy of the row without related rows that were created after `moment`.

    Prefetched lists are filtered recursively, and cached single rows are set to None. Rows without `made` always
    existed.
    """
    then: Any = copy(row)
    lists = getattr(row, "_prefetched_objects_cache", {})
    then._prefetched_objects_cache = {name: _made_by(moment, found) for name, found in lists.items()}
    for name, one in list(then._state.fields_cache.items()):
        if not _was_there(one, moment):
            then._state.fields_cache[name] = None
    return cast(Row, then)


def _made_by(moment: datetime, found: Any) -> Any:
    then = found._chain()
    then._result_cache = [row_at_moment(row, moment) for row in found if _was_there(row, moment)]
    then._prefetch_done = True
    return then


def _was_there(row: Any, moment: datetime) -> bool:
    return getattr(row, "made", moment) <= moment


def call_at_moment(call: ModelCall, moment: datetime) -> ModelCall:
    if call.ended is None or call.ended <= moment:
        return call
    then = copy(call)
    then.status, then.ended, then.retry_at = ModelCall.Status.OPEN, None, None
    then.input_tokens = then.output_tokens = then.cost = None
    then.estimated = False
    return then


def move_at_moment(move: Row, moment: datetime) -> Row:
    """Return the step of a tool loop without a result that arrived after `moment`."""
    then: Any = copy(move)
    if then.settled is None or then.settled > moment:
        then.settled, then.result, then.tool_call = None, "", None
    return cast(Row, then)


def moments_of_calls(calls: Iterable[ModelCall]) -> Iterator[datetime]:
    """Yield the times at which model calls started and ended."""
    for call in calls:
        yield call.started
        if call.ended:
            yield call.ended


def run_at_moment(
    run: Run,
    moment: datetime,
    calls: Sequence[ModelCall],
    later: Sequence[ModelCall],
    failure: Callable[[ModelCall], dict[str, Any]],
    survives: bool = False,
) -> Run:
    """Return the run at a moment before its end.

    `calls` are the model calls until then in their state at that moment; `later` are all that started after it.
    `failure` returns the error of the run for a call that failed; a retry clears it. If `survives`, the run continues
    after a call failed for good, so it had failed only if it was retried.
    """
    then = copy(run)
    then.status, then.outcome = _status(run, moment, calls, later, survives), None
    then.retries = max((call.series for call in calls), default=0)
    then.started = run.started if moment >= start_of(run) else None
    failed = then.status == Run.Status.FAILED
    then.ended = max((call.ended for call in calls if call.ended), default=None) if failed else None
    last = _given_up(calls)
    then.error = (failure(last) if last else {}) if failed else None
    return then


def start_of(run: Run) -> datetime:
    return run.started or run.created


def _status(run: Run, moment: datetime, calls: Sequence[ModelCall], later: Sequence[ModelCall], survives: bool) -> str:
    """The run may have failed and been retried, or been interrupted and resumed."""
    if not run.started or moment < run.started:
        return Run.Status.QUEUED
    if not calls or any(call.status == ModelCall.Status.OPEN for call in calls):
        return Run.Status.RUNNING
    goes_on = any(call.series == calls[-1].series for call in later)
    if _given_up(calls) and not goes_on and (later or not survives):
        return Run.Status.FAILED
    newest = max(calls, key=lambda call: call.ended or call.started)
    return Run.Status.QUEUED if newest.status == ModelCall.Status.INTERRUPTED else Run.Status.RUNNING


def _given_up(calls: Sequence[ModelCall]) -> ModelCall | None:
    """Return the call of the newest series that failed for good, if any."""
    ends = (call for call in calls if call.status == ModelCall.Status.FAILED and call.retry_at is None)
    return next((call for call in ends if call.series == calls[-1].series), None)


def replace_rows(before: Any, rows: Sequence[Any]) -> Any:
    """Replace the prefetched rows of a relation."""
    then = before._chain()
    then._result_cache, then._prefetch_done = list(rows), True
    return then
