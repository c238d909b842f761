"""Three ready-made councils that review the work of an inquiry: an agent for each word that is asked of a critic."""

from importlib import import_module

from django.db import migrations

from engine.ledger.hashing import EntryDraft, format_timestamp
from engine.founding import at_founding
from engine.migrations._sealing import seal

FIRST = import_module("judgements.migrations.0002_councils").COUNCILS
CHAIN = "6d616769-0000-4000-8000-636f756e6373"
COUNCILS = {
    "Plan review": [
        (
            "Complete",
            "Approve if the steps, when each of them succeeds, answer the whole question. Reject when a part of the "
            "question is in no step, and name that part.",
        ),
        (
            "Clear",
            "Approve if somebody who sees one step alone knows what to look for and when it is found. Reject a step "
            "that cannot be acted on by itself, and name it.",
        ),
        (
            "Sufficient",
            "Approve if no step is missing that the last one needs, and none could be left out. Reject otherwise, and "
            "name the step that is missing or needless.",
        ),
    ],
    "Research review": [
        (
            "Relevant",
            "Approve if the result says what its step asks for. Reject what belongs to another question, and say what "
            "was asked.",
        ),
        (
            "Accurate",
            "Approve if the quotes carry every claim, in what they say and in their numbers. Reject a claim that says "
            "more than its quotes, and name it. Where nothing is claimed, approve.",
        ),
        (
            "Complete",
            "Approve if nothing is missing that the step asks for, or if it is said where it was looked for in vain. "
            "Reject when a quote that is shown contradicts the result and the result does not say so.",
        ),
    ],
    "Answer review": [
        (
            "To the question",
            "Approve if it answers the very question that was asked, or says why it cannot be answered. Reject an "
            "answer to another question.",
        ),
        (
            "Reasoned",
            "Approve if the answer follows from the claims that it rests on, step by step. Reject a leap, and name it.",
        ),
        (
            "Nothing left out",
            "Approve if nothing of weight is left out that is among the claims, nor anything that speaks against the "
            "answer. Reject otherwise, and name what is left out.",
        ),
    ],
}


def make_all(apps, schema_editor):
    """In a new database with those that were there before councils were on record."""
    make(apps, schema_editor, FIRST | COUNCILS)


def make(apps, schema_editor, councils=COUNCILS):
    taken = set(apps.get_model("judgements", "Council").objects.values_list("name", flat=True))
    new = {name: members for name, members in councils.items() if name not in taken}
    if drafts := [draft_of(found(apps, name, members)) for name, members in new.items()]:
        seal(apps, CHAIN, drafts)


def found(apps, name, members):
    Council, Version, Member, Change = (
        apps.get_model("judgements", model) for model in ("Council", "CouncilVersion", "Member", "CouncilChange")
    )
    council = Council.objects.create(name=name)
    version = Version.objects.create(council=council, number=1, name=name)
    for seat, (member, criteria) in zip("ABC", members):
        Member.objects.create(version=version, seat=seat, name=member, criteria=criteria)
    Council.objects.filter(pk=council.pk).update(current=version)
    state = {"archived": False, "locked": False, "retention_days": council.retention_days}
    return Change.objects.create(council=council, kind="founded", version=version, name=name, **state)


def draft_of(change):
    facts = {"id": change.council_id, "change": change.kind, "by": "", "owner": None, "owner_name": ""}
    facts |= {name: getattr(change, name) for name in ("name", "archived", "locked", "retention_days")}
    names = ("seat", "name", "model", "criteria", "fallback")
    agents = [{name: getattr(one, name) for name in names} for one in change.version.members.order_by("seat")]
    return EntryDraft("council", format_timestamp(change.made) or "", {**facts, "version": 1, "agents": agents})


class Migration(migrations.Migration):
    dependencies = [("judgements", "0024_starts"), ("engine", "0025_gates_in_order")]
    operations = [at_founding(migrations.RunPython(make, migrations.RunPython.noop), make_all)]
