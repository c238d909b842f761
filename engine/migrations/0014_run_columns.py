"""What every procedure's runs have: a title, what came of it, whose run made it, and when it is to be looked at."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

from engine.ledger import immutability
from engine.migrations._aside import around

ASIDE, BACK = around("engine_run", lifted=lambda: [immutability.ENGINE_TABLES["engine_run"]])


def of_runs(related_name):
    return models.ForeignKey(
        null=True, on_delete=django.db.models.deletion.PROTECT, related_name=related_name, to="engine.run"
    )


def texts(length):
    return models.CharField(blank=True, default="", max_length=length)


class Migration(migrations.Migration):
    dependencies = [("engine", "0013_account")]
    operations = [
        ASIDE,
        migrations.AddField("run", "title", texts(120), False),
        migrations.AddField("run", "request", texts(64), False),
        migrations.AddField("run", "parent", of_runs("children")),
        migrations.AddField("run", "root", of_runs("descendants")),
        migrations.AddField("run", "outcome", models.CharField(max_length=60, null=True)),
        migrations.AddField("run", "override", models.CharField(max_length=60, null=True)),
        migrations.AddField("run", "redacted", models.DateTimeField(null=True)),
        migrations.AddField("run", "spend", models.BigIntegerField(null=True)),
        migrations.AddField("run", "news", models.BigIntegerField(db_default=0)),
        migrations.AddField("run", "wakes_at", models.DateTimeField(null=True)),
        migrations.AddField("run", "worked", models.FloatField(db_default=0.0)),
        migrations.AddField("run", "host", models.CharField(blank=True, db_default="", max_length=100)),
        migrations.AddIndex("run", models.Index(fields=["wakes_at"], condition=Q(status="waiting"), name="run_alarms")),
        migrations.AddIndex("run", models.Index(fields=["ended"], condition=Q(redacted=None), name="run_with_texts")),
        BACK,
    ]
