"""What a debate leaves behind: the same with the same seed, and nothing once it is redacted."""

import json
import re
from pathlib import Path
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connection

from debates import moderation, responses
from debates.models import Debate
from engine.audit.verification import verify_one
from engine.models import NewDocument
from runs.record.redaction import redact_run, wipe_database_files
from tests.conftest import only_on, perform
from tests.debates.test_evidence import rehearsed
from tests.debates.test_procedure import AgreeingModels, debate, says

pytestmark = pytest.mark.django_db

ERASED = "title question document content reason claim artifact chair alone last who".split()


class Telling(AgreeingModels):
    """Members that put one word into every text that an answer has."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self.word = word

    async def ask(self, model, messages, form, on_growth, way):
        word, number = self.word, len(self.asked)
        point = {"claim": f"{word}claim holds.", "option": "HIRE", "side": "for", "document": "", "line": 0}
        table = {"title": f"{word}artifact", "kind": "text", "text": f"{word}artifact", "columns": [], "rows": []}
        verdict = {"verdict": "HIRE", "verdict_reasoning": f"As {word}reason says."}
        more = {"points": [point | {"answers": ""}], "artifact": table, **verdict}
        answers = {
            "first": {"verdict": "HIRE", "verdict_reasoning": f"By {word}alone, {number}.", "confidence": 70},
            "closing": {"content": f"At {word}last, {number}.", **verdict, "moved_by": []},
        }
        said = says(f"Remark {number} on {word}content and more. " + "It goes on. " * 60, **more)
        self.will(model, json.dumps(answers[form.name]) if form.name in answers else said)
        return await super().ask(model, messages, form, on_growth, way)


def files() -> str:
    """All bytes of the database's files, its log of what is not written yet among them."""
    name = Path(connection.settings_dict["NAME"])
    return "".join(path.read_bytes().decode("latin-1") for path in name.parent.glob(f"{name.name}*"))


@only_on("sqlite")
@pytest.mark.django_db(transaction=True)
async def test_no_file_of_sqlite_has_a_text_of_one_that_was_redacted():
    mira, word = await User.objects.acreate_user("mira"), f"zyx{uuid4().hex[:12]}"
    members = [{"name": name, "who": f"Looks at {word}who.", "model": f"test/{name}"} for name in ("ada", "ben")]
    letter = NewDocument(f"{word}document", "text", (f"{word}document it is.",) * 40, "0" * 64)
    told = {"title": f"{word}title", "question": f"Is it {word}question?", "documents": [letter]}
    made = await sync_to_async(debate)(members=members, most=6, switches={"challenge": False}, **told)
    await sync_to_async(moderation.post_message)(made.pk, mira, f"Think of {word}chair.")
    run = await perform(made.pk, Telling(word))
    there = await sync_to_async(files)()
    assert [what for what in ERASED if f"{word}{what}" not in there] == []
    await sync_to_async(redact_run)(run.pk, "mira", "Somebody asked for it.")
    assert await sync_to_async(wipe_database_files)()
    assert word not in await sync_to_async(files)()
    assert await sync_to_async(lambda: list(verify_one(run.pk)[2]))() == []


# ---- the same seed ----------------------------------------------------------------------------------------


@sync_to_async
def recorded(pk):
    """All that is told, without ids, times and hashes; closings, which come and repeat in any order, as a set."""
    told = responses.debate_fields(Debate.objects.with_members().get(pk=pk))
    turns = list(Debate.objects.get(pk=pk).turns.values("number", "why", "after", "weights", "ticket", "state"))
    closings = [one | {"number": 0, "id": "", "repeats": 0} for one in told["messages"] if one["kind"] == "closing"]
    told["messages"] = [one for one in told["messages"] if one["kind"] != "closing"]
    told["closings"] = sorted(closings, key=lambda one: one["seat"])
    whole = json.dumps([told, turns], sort_keys=True, default=str)
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{16,}|" + str(pk)[:8], "", whole)


async def test_the_same_seed_leaves_the_same_record_to_the_byte():
    made = [await sync_to_async(rehearsed)(seed=bytes(range(32)), most=24) for _ in range(2)]
    for one in made:
        assert (await perform(one.pk)).status == "finished"
    first, second = [await recorded(one.pk) for one in made]
    assert len(first) > 20_000
    assert first == second
