"""Councils are evidence: each change is a row and an entry. What they are today is the first thing that is sealed."""

import secrets

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models
from django.utils import timezone

from engine.ledger import immutability, hashing
from engine.ledger.entries import MAKER
from engine.on_schema import OnSchema
from judgements.guards import GUARDS

COUNCILS = "6d616769-0000-4000-8000-636f756e6373"
TABLE = "judgements_councilchange"


def guard(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [GUARDS[TABLE]])


def unguard(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [GUARDS[TABLE]])


def adopt(apps, schema_editor):
    """A change for each version that is there, as nobody's, with the time of this migration."""
    change = apps.get_model("judgements", "CouncilChange")
    versions = apps.get_model("judgements", "CouncilVersion").objects.select_related("council__owner", "council__current")
    drafts = []
    for version in versions.order_by("council", "number"):
        council = version.council
        newest = version.pk == council.current_id
        state = {
            "name": version.name,
            "owner": council.owner_id,
            "archived": newest and council.archived is not None,
            "locked": newest and council.locked is not None,
            "retention_days": council.retention_days,
        }
        owner_name = council.owner.username if council.owner else ""
        values = {"council": council, "version": version, "kind": "adopted", "owner_name": owner_name, **state}
        row = change.objects.create(**values)
        facts = {"id": council.pk, "change": "adopted", "by": "", "owner_name": owner_name, **state}
        facts |= {"version": version.number, "agents": agents_of(version)}
        drafts.append(hashing.EntryDraft("council", stamp(row.made), facts))
    if drafts:
        seal(apps, drafts)


def agents_of(version):
    names = ("seat", "name", "model", "criteria", "fallback")
    return [{name: getattr(member, name) for name in names} for member in version.members.order_by("seat")]


def seal(apps, drafts):
    """As `engine.ledger` does it; that one works with the tables as they are at the end of all migrations."""
    entry, leaf, salt = (apps.get_model("engine", name) for name in ("Entry", "Leaf", "Salt"))
    head = hashing.GENESIS_HASH
    for seq, draft in enumerate(drafts, 1):
        line = hashing.entry_line(draft, {}, run=COUNCILS, seq=seq, prev=head, maker=MAKER)
        head = hashing.entry_hash(line)
        entry.objects.create(run_id=COUNCILS, seq=seq, kind=draft.kind, line=line, hash=head)
    last = leaf.objects.order_by("-index").first()
    at = timezone.now()
    index, prev = (last.index + 1, last.hash) if last else (0, hashing.GENESIS_HASH)
    seq = len(drafts)
    hashed = hashing.leaf_hash(index=index, run=COUNCILS, seq=seq, head=head, at=stamp(at), prev=prev)
    made = leaf.objects.create(index=index, run_id=COUNCILS, seq=seq, head=head, at=at, hash=hashed)
    salt.objects.create(leaf=made, value=secrets.token_hex(16))


def stamp(moment):
    return moment.isoformat().removesuffix("+00:00") + "Z"


class Migration(migrations.Migration):

    dependencies = [
        ('judgements', '0018_seeing_is_of_runs'),
        ('engine', '0009_chains_of_no_run'),
    ]

    operations = [
        migrations.CreateModel(
            name='CouncilChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('kind', models.CharField(choices=[('adopted', 'Adopted'), ('founded', 'Founded'), ('revised', 'Revised'), ('archived', 'Archived'), ('brought back', 'Brought Back'), ('locked', 'Locked'), ('unlocked', 'Unlocked'), ('kept', 'Kept')], max_length=12)),
                ('by', models.CharField(blank=True, max_length=150)),
                ('name', models.CharField(max_length=60)),
                ('owner', models.BigIntegerField(null=True)),
                ('owner_name', models.CharField(blank=True, max_length=150)),
                ('archived', models.BooleanField()),
                ('locked', models.BooleanField()),
                ('retention_days', models.PositiveIntegerField()),
                ('council', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='changes', to='judgements.council')),
                ('version', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='judgements.councilversion')),
            ],
            options={
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        OnSchema(guard, unguard),
        migrations.RunPython(adopt, migrations.RunPython.noop),
    ]
