"""A digest of the idempotency key and the request that a judgement came with, sealed with it."""

import django.db.models.deletion
from django.db import migrations, models

from engine.evidence import guards
from judgements.guards import GUARDS

GUARD = GUARDS["judgements_judgement"]
aside: list[str] = []


def put_aside(apps, schema_editor):
    aside.extend(guards.put_aside(schema_editor.connection, GUARD.table))
    guards.lift(schema_editor.connection, [GUARD])


def put_back(apps, schema_editor):
    while aside:
        schema_editor.execute(aside.pop())
    guards.install(schema_editor.connection, [GUARD])


class Migration(migrations.Migration):
    dependencies = [("judgements", "0019_council_changes"), ("engine", "0013_account")]
    operations = [
        migrations.RunPython(put_aside, put_back),
        migrations.AddField("judgement", "request", models.CharField(blank=True, default="", max_length=64), False),
        migrations.RunPython(put_back, put_aside),
        migrations.AlterField(
            "idempotencykey",
            "judgement",
            models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="request_key", to="judgements.judgement"
            ),
        ),
    ]
