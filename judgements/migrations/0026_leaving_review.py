"""A ready-made council that is asked, beside a person, before something leaves the sandbox of a mission."""

from importlib import import_module

from django.db import migrations

from engine.founding import at_founding
from engine.migrations._sealing import seal

before = import_module("judgements.migrations.0025_review_councils")
NAME = "Leaving review"
MEMBERS = [
    (
        "Asked for",
        "Approve if the goal needs exactly this, and no more leaves than it needs. Reject what the goal does not ask "
        "for, and name it.",
    ),
    (
        "Harmless",
        "Approve if nothing in it can do harm where it goes: to people, to machines, to what others rely on. Reject what "
        "destroys, weakens a check or hides something, and name it.",
    ),
    (
        "Nothing secret",
        "Approve if no key, no password and nothing about a person leaves with it, and the place that it goes to is the "
        "one that its purpose names. Reject otherwise, and name what is too much.",
    ),
]


def make(apps, schema_editor):
    if not apps.get_model("judgements", "Council").objects.filter(name=NAME).exists():
        seal(apps, before.CHAIN, [before.draft_of(before.found(apps, NAME, MEMBERS))])


class Migration(migrations.Migration):
    dependencies = [("judgements", "0025_review_councils")]
    operations = [at_founding(migrations.RunPython(make, migrations.RunPython.noop))]
