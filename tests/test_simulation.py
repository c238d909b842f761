"""The engine's core in one thread, step by step, in every order that hypothesis finds.

Workers claim, are killed, sleep past their leases and come back; models answer, fail or are late; commits fail, or
happen although their answer is lost; people cancel and retry. Nothing runs by itself: time is what a step says it is.
A failure prints the steps that led to it and is found again from its seed. MAGI_TEST_EXAMPLES makes it longer,
with other orders in every run.
"""

import asyncio
import os
import secrets
from collections import Counter
from contextlib import suppress
from datetime import timedelta

import pytest
from django.db.models.functions import Now
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from engine import fault_injection, run_control
from engine.audit import sealing
from engine.audit.full_verification import verify_all
from engine.ledger.entries import AuditEntry
from engine.ledger.merkle_log import DigestSalt, LogLeaf
from engine.llm.errors import CallFailed, RateLimited, RunFailed, Unauthorized, UnusableAnswer
from engine.llm.queues import ProviderQueue
from engine.llm.response_format import RequestMode
from engine.llm.streaming import ModelReply
from engine.models import ModelCall, Run, WriterMarker
from engine.runtime.run_context import LeaseLost, RunContext
from engine.runtime.writer import Writer, _Work
from judgements import procedure, rules
from judgements.models import COUNCILS, Judgement, JudgementAgent, RoundDecision
from tests.conftest import EVERYTHING, JAPAN, agents, claim, says
from tests.databases import tampering

ANSWERS = {
    "approve": lambda: says("approve"),
    "reject": lambda: says("reject"),
    "prose": lambda: "I approve.",
    "busy": lambda: RateLimited("Wait.", retry_after=0),
    "unusable": lambda: UnusableAnswer("No answer."),
    "unauthorized": lambda: Unauthorized("The key was refused."),
}
NAMES = ("claim", "open", "decision", "outcome")


def there_is(status):
    return Run.objects.filter(status=status).exists()


class Inline(Writer):
    """The writer without its thread: the same commits, made by whoever asks for them."""

    async def write(self, change, name="", last=None, proof=None):
        work = _Work(change, name, last, proof)
        self._write([work])
        return await work.future


class Here(RunContext):
    async def read(self, query):
        return query()


class SimulatedWorker:
    """One engine's worth of work: its tasks wait for answers that the machine gives when it likes."""

    timeout = 120.0

    def __init__(self):
        self.name = secrets.token_hex(4)
        self.writer = Inline(self.name)
        self.tasks: dict[asyncio.Task, Run] = {}
        self.asked: list[asyncio.Future] = []
        self.broken: list[Exception] = []

    def queue(self, model):
        return ProviderQueue()

    def request_mode(self, model):
        return RequestMode()

    async def ask(self, model, messages, form, on_growth, way):
        future = asyncio.get_running_loop().create_future()
        self.asked.append(future)
        answer = await future
        if isinstance(answer, CallFailed):
            raise answer
        return ModelReply(text=answer, finish="stop", model=model)

    async def claim(self):
        performed = [run for task, run in self.tasks.items() if not task.done()]
        for run in await self.writer.write(lambda: claim(self.name, 1, performed), "claim"):
            self.tasks[asyncio.create_task(self.perform(run))] = run

    async def perform(self, run):
        context = Here(run, self, self.writer)
        try:
            with suppress(LeaseLost):
                await self.judge(context)
        except Exception as error:  # noqa: BLE001 - kept for the invariant
            self.broken.append(error)

    async def judge(self, context):
        try:
            await context.end(Run.Status.FINISHED, await procedure.perform(context))
        except RunFailed as failure:
            await context.end(Run.Status.FAILED, lambda: None, {"code": failure.code, "message": str(failure)})

    @property
    def waiting(self):
        return [future for future in self.asked if not future.done()]

    def die(self):
        for task in self.tasks:
            task.cancel()


class SimulatedGate(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.workers = [SimulatedWorker(), SimulatedWorker()]
        self.ended: dict[object, tuple] = {}
        self.before = LogLeaf.objects.size()  # what there is of councils stays
        self.verified = -1  # how long the log was when all of it was verified last
        sealing.adopt_unsealed_runs()  # as when a site starts: from now on every submission has to be sealed

    def do(self, coroutine):
        async def then_settle():
            result = await coroutine
            for _ in range(60):
                await asyncio.sleep(0)
            return result

        return self.loop.run_until_complete(then_settle())

    async def nothing(self):
        pass

    # ---- steps ---------------------------------------------------------------------------------------------

    @precondition(lambda self: Run.objects.count() < 3)
    @rule()
    def submit(self):
        Judgement.objects.submit(owner=None, content=JAPAN, agents=agents("openai/a", "openai/b", "openai/c"))

    @precondition(lambda self: there_is("queued"))
    @rule(number=st.integers(0, 1))
    def claim(self, number):
        self.do(self.workers[number].claim())

    @precondition(lambda self: there_is("running"))
    @rule(number=st.integers(0, 1))
    def take_over_after_the_lease(self, number):
        """The worker before may be alive and wake later."""
        self.time_passes_beyond_every_lease()
        self.claim(number)

    @precondition(lambda self: any(worker.waiting for worker in self.workers))
    @rule(
        number=st.integers(0, 1),
        which=st.integers(0, 8),
        kind=st.sampled_from(sorted(ANSWERS)),
        often=st.integers(1, 9),
    )
    def answer(self, number, which, kind, often):
        """The usual answer comes often, so that judgements get on."""
        for _ in range(often if kind in ("approve", "reject") else 1):
            waiting = self.workers[number].waiting or self.workers[1 - number].waiting
            if waiting:
                waiting[which % len(waiting)].set_result(ANSWERS[kind]())
                self.do(self.nothing())

    @precondition(lambda self: there_is("running"))
    @rule(number=st.integers(0, 1))
    def kill(self, number):
        self.workers[number].die()
        self.do(self.nothing())
        self.workers[number] = SimulatedWorker()

    @precondition(lambda self: there_is("running"))
    @rule()
    def time_passes_beyond_every_lease(self):
        Run.objects.filter(status="running").update(lease_expires_at=Now() - timedelta(seconds=1))

    @precondition(lambda self: there_is("running"))
    @rule(number=st.integers(0, 1))
    def give_back(self, number):
        worker = self.workers[number]
        self.do(worker.writer.write(lambda: Run.objects.release_claims(worker.name)))

    @precondition(lambda self: there_is("running"))
    @rule(which=st.integers(0, 2))
    def cancel(self, which):
        for run in Run.objects.order_by("created")[which : which + 1]:
            run_control.cancel(run.pk)

    @precondition(lambda self: there_is("failed"))
    @rule(which=st.integers(0, 2))
    def retry(self, which):
        for run in Run.objects.order_by("created")[which : which + 1]:
            if run_control.retry(run.pk):
                self.ended.pop(run.pk, None)

    @rule(name=st.sampled_from(NAMES), when=st.sampled_from(["before", "after"]), number=st.integers(1, 3))
    def a_commit_will_fail(self, name, when, number):
        fault_injection.arm_fault(f"{when}-{name}-commit=raise@{number}")

    # ---- what is always true -------------------------------------------------------------------------------

    @invariant()
    def nothing_breaks(self):
        assert [error for worker in self.workers for error in worker.broken] == []

    @invariant()
    def one_answer_a_step_and_no_round_before_its_time(self):
        cells = Counter(RoundDecision.objects.values_list("agent", "round"))
        answered = Counter(ModelCall.objects.filter(status="answered").values_list("run", "step"))
        assert set(cells.values()) | set(answered.values()) <= {1}
        assert len(cells) == len(answered)
        for run in Run.objects.all():
            rounds = Counter(RoundDecision.objects.filter(agent__judgement=run.pk).values_list("round", flat=True))
            assert all(rounds[n - 1] == 3 for n in rounds if n > 1)

    @invariant()
    def a_verdict_is_what_the_rule_makes_of_nine_decisions(self):
        for judgement in Judgement.objects.select_related("run"):
            histories = {a.seat: a.history for a in JudgementAgent.objects.filter(judgement=judgement)}
            nine = sum(map(len, histories.values())) == 9
            assert (judgement.run.status == "finished") == (judgement.run.outcome is not None)
            assert judgement.run.outcome is None or (nine and judgement.run.outcome == rules.verdict(histories))

    @invariant()
    def what_is_over_stays_as_it_is(self):
        for run in Run.objects.filter(status__in=["finished", "failed", "cancelled"]):
            now = (run.status, run.ended, RoundDecision.objects.filter(agent__judgement=run.pk).count())
            assert self.ended.setdefault(run.pk, now) == now
            assert not run.calls.filter(status="open").exists()

    @invariant()
    def what_has_ended_is_sealed_and_intact(self):
        if (size := LogLeaf.objects.size()) != self.verified:
            assert verify_all().faults == []
            self.verified = size

    # ---- and in the end everything ends ---------------------------------------------------------------------

    def teardown(self):
        fault_injection.arm_fault("")
        try:
            self.time_passes_beyond_every_lease()
            Run.objects.update(deaths=0, crashes=0)
            self._finish()
            assert not Run.objects.filter(status__in=["queued", "running"]).exists()
            assert verify_all().faults == []
        finally:
            for worker in self.workers:
                worker.die()
            self.do(self.nothing())
            self.loop.close()
            with tampering():
                DigestSalt.objects.filter(leaf__gte=self.before).delete()
                LogLeaf.objects.filter(index__gte=self.before).delete()
                AuditEntry.objects.exclude(run=COUNCILS).delete()
                for model in (RoundDecision, JudgementAgent, Judgement, ModelCall, Run, WriterMarker):
                    model.objects.all().delete()

    def _finish(self):
        last = SimulatedWorker()
        self.workers.append(last)
        for _ in range(200):
            if not Run.objects.filter(status__in=["queued", "running"]).exists():
                break
            self.do(last.claim())  # what is suspected comes alone, when nothing else is left
            for future in last.waiting:
                future.set_result(says("approve"))
            self.do(self.nothing())
        self.one_answer_a_step_and_no_round_before_its_time()
        self.a_verdict_is_what_the_rule_makes_of_nine_decisions()


@pytest.mark.django_db(transaction=True)
def test_no_order_of_events_loses_doubles_or_mistakes_a_decision(monkeypatch):
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")  # one thread does everything here
    examples = int(os.environ.get("MAGI_TEST_EXAMPLES", "100" if EVERYTHING else "6"))
    run_state_machine_as_test(
        SimulatedGate,
        settings=settings(
            max_examples=examples,
            derandomize="MAGI_TEST_EXAMPLES" not in os.environ,  # the suite is the same every time
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
