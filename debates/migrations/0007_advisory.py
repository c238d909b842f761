"""Debates whose outcome only advises; the ready-made medical board becomes one, with a physician in person.

A board that somebody has changed, renamed, locked or archived since stays as it is.
"""

from django.db import migrations, models

from debates.guards import GUARDS
from debates.migrations._ready_made import MEDICAL, PHYSICIAN
from engine.ledger.hashing import EntryDraft, format_timestamp
from engine.founding import at_founding
from engine.migrations._aside import around
from engine.migrations._sealing import seal

CHAIN = "6d616769-0000-4000-8000-70616e656c73"
CHANGED = ("debates_debate", "debates_panelversion")
SETTINGS = ("rule", "timekeeper", "view", "most", "reply_within")
SWITCHES = ("reply", "call", "challenge", "first", "free_floor", "advisory")


before, after = around(*CHANGED, lifted=lambda: [GUARDS[table] for table in CHANGED])


def advise(apps, schema_editor):
    panels = apps.get_model("debates", "Panel").objects
    board = panels.filter(name=MEDICAL["name"], owner=None, current__number=1, archived=None, locked=None).first()
    if board is None or list(board.changes.values_list("kind", flat=True)) != ["founded"]:
        return
    version = second_version(apps, board)
    panels.filter(pk=board.pk).update(current=version)
    kept = {"name": board.name, "archived": False, "locked": False, "retention_days": board.retention_days}
    change = apps.get_model("debates", "PanelChange").objects.create(
        panel=board, kind="revised", version=version, **kept
    )
    facts = {"id": board.pk, "change": change.kind, "by": "", "owner": None, "owner_name": "", **kept}
    facts |= {"version": version.number, "holds": held(version)}
    seal(apps, CHAIN, [EntryDraft("panel", format_timestamp(change.made) or "", facts)])


def second_version(apps, board):
    """As the first one is, but for what makes it advise and who sits there besides."""
    Version, Seat, Option = (apps.get_model("debates", f"Panel{part}") for part in ("Version", "Seat", "Option"))
    first = board.current
    kept = {name: getattr(first, name) for name in (*SETTINGS, *SWITCHES)}
    version = Version.objects.create(panel=board, number=2, name=board.name, **(kept | {"advisory": True}))
    for seat in first.seats.order_by("seat"):
        Seat.objects.create(version=version, **said(seat, ("seat", "name", "who", "model", "fallback", "person")))
    name, who = PHYSICIAN
    Seat.objects.create(version=version, seat=first.seats.count() + 1, name=name, who=who, person=True)
    for option in first.options.order_by("number"):
        Option.objects.create(version=version, **said(option, ("number", "word", "meaning", "direction")))
    return version


def held(version):
    """As `PanelVersion.held` says it, and its change."""
    seat, option = ("name", "who", "model", "fallback", "person"), ("word", "meaning", "direction")
    return {
        "options": [said(one, option) for one in version.options.order_by("number")],
        "members": [said(one, seat) for one in version.seats.order_by("seat")],
        **said(version, SETTINGS),
        "switches": said(version, SWITCHES),
    }


def said(row, names):
    return {name: getattr(row, name) for name in names}


class Migration(migrations.Migration):
    dependencies = [("debates", "0006_looks")]

    operations = [
        before,
        migrations.AddField(
            model_name="debate", name="advisory", field=models.BooleanField(default=False, db_default=False)
        ),
        migrations.AddField(
            model_name="panelversion", name="advisory", field=models.BooleanField(default=False, db_default=False)
        ),
        after,
        at_founding(migrations.RunPython(advise, migrations.RunPython.noop)),
    ]
