"""The questions that models of a run are answering now, in sentences, for the pages and commands of all procedures."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from statistics import median
from uuid import UUID

from engine.llm.providers import is_rehearsal
from engine.llm.tokens import tokens_of
from engine.models import ModelCall, ModelWait, Run
from engine.runtime.procedure import StepRequester

from .attempts import Retry, retries_of
from .procedure.fragments import PageFragment, fragment_of

NAMED = 3  # maximum names in a sentence about agents that wait together
AGAIN, WRITES = "is asked again", "writes"
# newest answers of a model that are read, and how many of one procedure give a usual duration
LOOKED_AT, ENOUGH = 60, 5


@dataclass(frozen=True)
class OpenQuestion:
    """One open question to a model: the agent, the status, its start and deadline, and the usual duration."""

    step: str
    who: str
    said: str
    again: str = ""  # “retry 2 of 3 after 120 s”
    since: datetime | None = None
    until: datetime | None = None
    usual: str = ""
    away: bool = False

    @property
    def waits(self) -> bool:
        """Return whether it waits for a free slot or an unavailable provider, so that no model reads it yet."""
        return self.said.startswith("waits")

    @property
    def short(self) -> str:
        """Return the status where space is limited: “Waits for a place at llama”."""
        return self.said[:1].upper() + self.said[1:].partition(";")[0]


def questions_of(
    run: Run, calls: Sequence[ModelCall], asker: Callable[[UUID, str], StepRequester]
) -> tuple[OpenQuestion, ...]:
    """Return the open questions of a running run, without those to rehearsals, whose duration is arbitrary."""
    if run.status != Run.Status.RUNNING:
        return ()
    waits = {wait.step: wait for wait in ModelWait.objects.of(run.pk)}
    own = [call for call in calls if call.series == run.retries]
    latest = {call.step: call for call in own if not is_rehearsal(call.model)}
    asked = {step: call for step, call in latest.items() if step in waits or _goes_on(call)}
    found, retries, usual = [], retries_of(own), dict[str, str]()
    for step in dict.fromkeys([*asked, *waits]):
        one = _question(step, asker(run.pk, step).who, asked.get(step), waits.get(step), retries.get(step))
        if one.since and step not in waits:
            model = latest[step].model
            usual[model] = usual[model] if model in usual else _usual(model, run.procedure)
            one = replace(one, usual=usual[model])
        found.append(one)
    return tuple(found)


def _goes_on(call: ModelCall) -> bool:
    return call.status == ModelCall.Status.OPEN or (call.status == ModelCall.Status.FAILED and bool(call.retry_at))


def _question(
    step: str,
    who: str,
    call: ModelCall | None,
    wait: ModelWait | None,
    retry: Retry | None,
) -> OpenQuestion:
    again = retry.in_words if retry else ""
    if wait:
        return OpenQuestion(step, who, _waits(wait), again, since=wait.since, away=wait.absent)
    assert call  # noqa: S101 - a step without a wait has a call
    if call.waits or call.status == ModelCall.Status.FAILED:
        said = "waits for its provider" if call.waits else AGAIN
        return OpenQuestion(step, who, said, again, until=call.retry_at)
    read = tokens_of(ModelCall.objects.values_list("prompt", flat=True).get(pk=call.pk))
    return OpenQuestion(step, who, f"reads {read:,} tokens", again, since=call.started)


def _waits(wait: ModelWait) -> str:
    if not wait.away:
        return f"waits for a place at {wait.provider}"
    runs = "1 run waits" if wait.runs == 1 else f"{wait.runs} runs wait"
    return f"waits: {wait.provider} {_absence(wait)}; {runs}. {wait.said}"


def _absence(wait: ModelWait) -> str:
    if wait.until:
        requests = "no more requests" if wait.limited else "no requests"
        return f"takes {requests} until {wait.until.astimezone(UTC):%H:%M:%S} UTC"
    since = f"{wait.away.astimezone(UTC):%H:%M} UTC" if wait.away else ""
    return f"limits requests since {since}" if wait.limited else f"has not answered since {since}"


def _usual(model: str, kind: str) -> str:
    """Return the median duration of the newest answers in such runs; empty if there are too few."""
    newest = ModelCall.objects.filter(model=model, status=ModelCall.Status.ANSWERED, ended__isnull=False).order_by(
        "-pk"
    )
    times = newest.values_list("run__procedure", "started", "ended")[:LOOKED_AT]
    took = [(ended - started).total_seconds() for procedure, started, ended in times if procedure == kind and ended]
    return f"usually {max(1, round(median(took))):,} s" if len(took) >= ENOUGH else ""


def writing(question: OpenQuestion, texts: Mapping[str, str]) -> OpenQuestion:
    """Return the question as being written once its answer streams."""
    reads = question.said.startswith("reads")
    return replace(question, said=WRITES) if reads and question.step in texts else question


def by_step(questions: Iterable[OpenQuestion], texts: Mapping[str, str]) -> dict[str, OpenQuestion]:
    """Return the current questions by step, for pages that show the status next to each agent."""
    return {one.step: writing(one, texts) for one in questions}


def questions_shown(questions: Sequence[OpenQuestion], texts: Mapping[str, str]) -> Iterator[PageFragment]:
    now = [writing(question, texts) for question in questions]
    steps = frozenset(one.step for one in now)
    yield fragment_of("", "asking", {"questions": together(now)}, steps=steps, replayed=False)


def together(questions: Sequence[OpenQuestion]) -> list[OpenQuestion]:
    """Merge questions that wait for the same provider into one, since the earliest."""
    by_wait: dict[tuple[str, str], list[OpenQuestion]] = {}
    for one in questions:
        by_wait.setdefault((one.said, one.again) if one.waits else (one.said, one.step), []).append(one)
    return [_one_of(alike) if len(alike) > 1 else alike[0] for alike in by_wait.values()]


def _one_of(alike: Sequence[OpenQuestion]) -> OpenQuestion:
    first, names = alike[0], list(dict.fromkeys(one.who for one in alike))
    more = [f"{len(names) - NAMED + 1} more"] if len(names) > NAMED else []
    shown = [*(names[: NAMED - 1] if more else names), *more]
    who = f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]
    said = first.said.replace("waits", "wait", 1) if len(names) > 1 else first.said
    since = min((one.since for one in alike if one.since), default=None)
    return replace(first, who=who, said=said, since=since)


def sentences_of(questions: Sequence[OpenQuestion]) -> Iterator[tuple[str, str]]:
    """Yield the questions whose provider is unavailable, for a command. Everything else shows in its results."""
    for one in questions:
        if one.away:
            yield one.said.partition(";")[0], f"{one.who} {one.said}"
