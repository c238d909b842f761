"""Judgements in bulk, with everything that a history needs: for measuring, and for tests of plans."""

import random
import uuid
from datetime import timedelta

from engine.text.search_terms import label_term

VOCABULARY = 30_000
BATCH = 500
RARE = "zeppelin"
EVERYWHERE = "decision"
HALF = "budget"
STATUSES = [("finished", 0.93), ("failed", 0.04), ("cancelled", 0.02), ("queued", 0.005), ("running", 0.005)]
CAUSES = [("timeout", "openai/large"), ("unauthorized", "mistral/small"), ("unusable_answer", "openai/small")]
OVERRIDDEN = 500  # of so many one
FLAGS = {"swayed": 0.1, "carried": 0.03, "changed": 0.4, "fallback": 0.001}


class Load:
    """`number` judgements of one busy owner, the oldest first, one every thirty seconds; ten of another one. They have
    all councils alike, of which there are at least so many."""

    def __init__(self, number: int, seed: int = 1, councils: int = 0) -> None:
        from django.contrib.auth.models import User
        from django.utils import timezone

        from judgements.models import Council
        from tests.conftest import agents

        self.number, self._random = number, random.Random(seed)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self._words = ["".join(self._random.choices(letters, k=self._random.randint(3, 10))) for _ in range(VOCABULARY)]
        self.busy = User.objects.create_user("busy")
        self.few = User.objects.create_user("few")
        self.staff = User.objects.create_superuser("staff")
        for number in range(Council.objects.count(), councils):
            Council.objects.create_first(name=f"Council {number}", owner=self.busy, agents=agents())
        self.councils = list(Council.objects.select_related("current"))
        self._now = timezone.now()

    def make(self, detailed: int = 1_000) -> None:
        """The newest `detailed` with three agents and nine decisions each, the others with their words alone."""
        from django.db import connection, transaction

        for start in range(0, self.number, BATCH):
            with transaction.atomic():
                self._batch(range(start, min(start + BATCH, self.number)), detailed)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")

    def _batch(self, numbers: range, detailed: int) -> None:
        from engine.models import Run
        from judgements.models import Judgement
        from runs.models import PresetUse, SearchText

        runs = [self._run(number) for number in numbers]
        Run.objects.bulk_create(runs)
        judgements = [self._judgement(run) for run in runs]
        Judgement.objects.bulk_create(judgements)
        SearchText.objects.bulk_create(
            SearchText(run=judgement.run, words=" ".join(self._found_by(judgement, number)))
            for judgement, number in zip(judgements, numbers, strict=True)
        )
        PresetUse.objects.bulk_create(
            PresetUse(
                run=one.run,
                shelf="council",
                key=one.council_version.council_id,
                owner=one.run.owner,
                rehearsal=is_rehearsal(number),
            )
            for one, number in zip(judgements, numbers, strict=True)
            if one.council_version
        )
        self._fail([run for run in runs if run.status == "failed"])
        self._decide([one for one, n in zip(judgements, numbers, strict=True) if n >= self.number - detailed])

    def _run(self, number: int):
        from engine.models import Run

        created = self._now - timedelta(seconds=30 * (self.number - number))
        status = self._random.choices([s for s, _ in STATUSES], [w for _, w in STATUSES])[0]
        over = status in ("finished", "failed", "cancelled")
        owner = self.few if number % max(self.number // 10, 1) == 7 else self.busy
        return Run(
            id=uuid.UUID(int=self._random.getrandbits(128), version=4),
            procedure="judgement",
            owner=owner,
            title=self._text(6)[:120],
            status=status,
            outcome=self._random.choice(["approved", "rejected"]) if status == "finished" else None,
            created=created,
            started=None if status == "queued" else created,
            ended=created + timedelta(seconds=48) if over else None,
            override="rejected" if status == "finished" and not number % OVERRIDDEN else None,
            error={"code": cause_of(number)[0], "message": "No answer.", "agent": "B"} if status == "failed" else None,
        )

    def _judgement(self, run):
        from judgements.models import Judgement

        version = self._random.choice([*(council.current for council in self.councils), None])
        return Judgement(run=run, content=self._text(60), council_version=version, prompt_version="1")

    def _found_by(self, judgement, number: int) -> list[str]:
        from tests.conftest import NAMES

        words = [*judgement.preview(), EVERYWHERE, *self._text(9 * 40).split()]
        words += [HALF] * (number % 2) + [RARE] * (number % max(self.number // 20, 1) == 3)
        words += [name.lower() for name in NAMES]
        words.append(label_term("rehearsal", is_rehearsal(number)))
        if judgement.run.outcome:
            words.append(label_term("verdict", judgement.run.outcome))
            words += [label_term("flag", "overridden")] * (not number % OVERRIDDEN)
            words += [label_term("flag", flag) for flag, share in FLAGS.items() if self._random.random() < share]
        return list(dict.fromkeys(words))

    def _text(self, length: int) -> str:
        """Many common words, few rare ones."""
        ranks = (min(int(self._random.paretovariate(0.6)), VOCABULARY - 1) for _ in range(length))
        return " ".join(self._words[rank] for rank in ranks)

    def _fail(self, runs) -> None:
        from engine.models import ModelCall

        models = dict(CAUSES)
        ModelCall.objects.bulk_create(
            ModelCall(
                run=run,
                step="B1",
                attempt=1,
                status="failed",
                model=models[run.error["code"]],
                prompt="[]",
                deadline=self._now,
                ended=self._now,
                started=self._now,
            )
            for run in runs
        )

    def _decide(self, judgements) -> None:
        from engine.models import ModelCall
        from judgements.models import JudgementAgent, RoundDecision
        from tests.conftest import agents

        seated = [
            JudgementAgent(judgement=judgement, seat=seat, **agent)
            for judgement in judgements
            for seat, agent in zip("ABC", agents(), strict=True)
        ]
        JudgementAgent.objects.bulk_create(seated)
        decided = [(agent, number) for agent in seated for number in (1, 2, 3) if agent.judgement.run.outcome]
        calls = [
            ModelCall(
                run_id=agent.judgement_id,
                step=agent.step(number),
                attempt=1,
                status="answered",
                model=agent.model,
                prompt="[]",
                deadline=self._now,
                ended=self._now,
                started=self._now,
            )
            for agent, number in decided
        ]
        ModelCall.objects.bulk_create(calls)
        RoundDecision.objects.bulk_create(
            RoundDecision(
                agent=agent,
                round=number,
                decision="approve" if agent.judgement.run.outcome == "approved" else "reject",
                reason=self._text(40),
                call=call,
            )
            for (agent, number), call in zip(decided, calls, strict=True)
        )


def is_rehearsal(number: int) -> bool:
    return number % 10 == 0


def cause_of(number: int) -> tuple[str, str]:
    """Of ten failures seven have the first cause, two the second, one the third."""
    return CAUSES[(number % 10 > 6) + (number % 10 > 8)]
