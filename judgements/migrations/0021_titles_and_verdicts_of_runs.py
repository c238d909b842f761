"""Title, request, verdict and redaction of a judgement become those of its run, where they have one name for all kinds."""

from django.db import migrations

from engine.ledger import immutability
from engine.on_schema import OnSchema

# what the guards of before said of columns that are no more; their triggers have the same names as today's
TABLES = ("engine_run", "judgements_judgement")
COPY = """UPDATE engine_run SET (title, request, outcome, redacted) = (
    SELECT title, request, verdict, redacted FROM judgements_judgement WHERE run_id = engine_run.id
) WHERE id IN (SELECT run_id FROM judgements_judgement)"""
OVERRIDE = """UPDATE engine_run SET override = (
    SELECT verdict FROM judgements_review WHERE judgement_id = engine_run.id AND kind = 'override'
    ORDER BY id DESC LIMIT 1
) WHERE id IN (SELECT judgement_id FROM judgements_review WHERE kind = 'override')"""

aside: list[str] = []


def ours():
    return [guard for guard in immutability.all_guards() if guard.table in TABLES]


def put_aside(apps, schema_editor):
    aside.clear()
    immutability.remove_triggers(schema_editor.connection, ours())
    for table in TABLES:
        aside.extend(immutability.suspend(schema_editor.connection, table))


def put_back(apps, schema_editor):
    while aside:
        schema_editor.execute(aside.pop())
    immutability.install_triggers(schema_editor.connection, ours())


class Migration(migrations.Migration):
    dependencies = [("judgements", "0020_request"), ("engine", "0014_run_columns")]
    operations = [
        OnSchema(put_aside, put_back),
        migrations.RunSQL(COPY),
        migrations.RunSQL(OVERRIDE),
        migrations.RemoveConstraint("judgement", "verdict_known"),
        migrations.RemoveIndex("judgement", "judgements_with_texts"),
        migrations.RemoveField("judgement", "title"),
        migrations.RemoveField("judgement", "request"),
        migrations.RemoveField("judgement", "verdict"),
        migrations.RemoveField("judgement", "redacted"),
        OnSchema(put_back, put_aside),
    ]
