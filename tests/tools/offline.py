"""What the tests of `tools/` share: judgements, their bundle, and the programs as auditors run them."""

import io
import subprocess
import sys
from collections import Counter

from asgiref.sync import async_to_sync
from django import conf
from django.contrib.auth.models import User
from django.core.management import call_command

from engine.llm.errors import Unauthorized
from judgements.models import Judgement
from judgements.rules import Verdict
from runs import reviews, run_actions
from tests.conftest import JAPAN, ScriptedModels, agents, perform
from tests.verifier import VERIFIER, run_here

RECEIPTS = VERIFIER.with_name("receipt.py")
sys.path.insert(0, str(VERIFIER.parent))
import receipt as receipts  # noqa: E402, F401 - for the tests
import verify as verifier  # noqa: E402


def judged(owner, *, content=JAPAN, **said):
    judgement = Judgement.objects.submit(
        owner=owner, content=content, agents=agents("openai/a", "openai/b", "openai/c")
    )
    models = ScriptedModels()
    for letter, answers in said.items():
        models.will(f"openai/{letter}", *answers)
    async_to_sync(perform)(judgement.pk, models)
    return judgement


def exported(mira: User, reviewer: User) -> tuple[str, str]:
    judged(mira)
    judged(mira, content="ß \u2028 \U0001f600 \x7f", a=["?", *["reject"] * 3], b=["approve", "reject", "reject"])
    failed = judged(mira, b=[Unauthorized("The key was refused.")])
    run_actions.retry(failed, mira)
    async_to_sync(perform)(failed.pk, ScriptedModels())
    run_actions.cancel(Judgement.objects.submit(owner=mira, content="x", agents=agents()), reviewer)
    reviews.add_review(failed.run, reviewer, "Balthasar misread the criteria.")
    reviews.add_review(failed.run, reviewer, "Not this week.", Verdict.REJECTED)
    judged(None, b=["nonsense", Unauthorized("The key was refused.")])
    out = io.StringIO()
    call_command("export_records", stdout=out)
    return out.getvalue(), conf.settings.CHECKPOINT_FILE.read_text()


def verify(*words):
    """Its exit status and all its lines."""
    status, said, complained = run_here(*words)
    return status, (said + complained).splitlines()


def verify_in_a_process(*words):
    """The same as auditors run it, with nothing but Python."""
    command = [sys.executable, "-I", "-S", str(VERIFIER), *map(str, words)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout.splitlines()


def verified_forks(lines):
    """What is wrong with these records, and how many of them are forks of what is not among them."""
    counts = Counter()
    problems = list(verifier.verify([one.encode() for one in lines], None, "", counts))
    return problems, counts["forked from what is not in it"]


def cancelled(owner):
    """One more record of two leaves, without an engine."""
    judgement = Judgement.objects.submit(owner=owner, content="x", agents=agents())
    run_actions.cancel(judgement, owner)
    return judgement


def summary(records, redacted=0, since=0, elsewhere=0):
    counts = f"{records} records, {redacted} redacted, {since} not yet in a checkpoint"
    return [f"Intact: {counts}, {elsewhere} leaves of the log are not in it"]


def export(folder, *words):
    file = folder / "again.jsonl"
    with file.open("w") as out:
        call_command("export_records", *map(str, words), stdout=out)
    return file


# ---- forging a record by its entries, a list that may be changed -------------------------------------------------


def drop(kind, **facts):
    def forge(entries):
        return [one for one in entries if one["kind"] != kind or not facts.items() <= one["facts"].items()]

    return forge


def change(kind, where, part, **values):
    def forge(entries):
        for one in entries:
            if one["kind"] == kind and where.items() <= one["facts"].items():
                one[part] |= values
        return entries

    return forge
