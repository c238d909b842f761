"""Reviews, words to be found by and idempotency keys are those of runs: their tables get the names of other apps."""

import django.db.models.deletion
from django.db import migrations, models

from engine.ledger import immutability
from engine.ledger.immutability import ImmutableTable, ColumnRule
from engine.on_schema import OnSchema

# as it was, for its triggers' names
REVIEWS = ImmutableTable(
    "judgements_review",
    run="OLD.judgement_id",
    rules=(ColumnRule("kept", kept=("id", "judgement_id", "by", "made", "kind", "verdict"), erased=("text",)),),
)
INDEX = ("judgements_words_insert", "judgements_words_append", "judgements_words_change", "judgements_words_delete")


def lift(apps, schema_editor):
    connection = schema_editor.connection
    immutability.remove_triggers(connection, [REVIEWS])
    if connection.vendor == "sqlite":
        for trigger in INDEX:
            schema_editor.execute(f"DROP TRIGGER {trigger}")
        schema_editor.execute("DROP TABLE judgements_words")
    else:
        schema_editor.execute("DROP FUNCTION IF EXISTS judgements_review_kept_erased()")
        schema_editor.execute("ALTER INDEX judgements_words RENAME TO runs_words")


MOVED = {"review": "engine", "searchtext": "runs", "idempotencykey": "runs"}


def rename_types(apps, schema_editor):
    """Who had a permission for one of them has it still."""
    ContentType = apps.get_model("contenttypes", "ContentType")
    for model, app in MOVED.items():
        ContentType.objects.filter(app_label="judgements", model=model).update(app_label=app)


def of_run(field, related_name, on_delete=django.db.models.deletion.CASCADE):
    return field(on_delete=on_delete, related_name=related_name, to="engine.run")


PROTECT = django.db.models.deletion.PROTECT


class Migration(migrations.Migration):
    dependencies = [
        ("judgements", "0021_titles_and_verdicts_of_runs"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("magi_site", "0002_groups"),
    ]
    run_before = [("engine", "0015_reviews"), ("runs", "0001_search_and_keys")]
    operations = [
        OnSchema(lift),
        migrations.RenameField("review", "judgement", "run"),
        migrations.AlterField("review", "run", of_run(models.ForeignKey, "reviews", PROTECT)),
        migrations.RenameField("review", "verdict", "outcome"),
        migrations.AlterField("review", "outcome", models.CharField(max_length=60, null=True)),
        migrations.AlterModelTable("review", "engine_review"),
        migrations.RenameField("searchtext", "judgement", "run"),
        migrations.AlterField("searchtext", "run", of_run(models.OneToOneField, "search")),
        migrations.AlterModelTable("searchtext", "runs_searchtext"),
        migrations.RenameField("idempotencykey", "judgement", "run"),
        migrations.AlterField("idempotencykey", "run", of_run(models.OneToOneField, "request_key")),
        migrations.AlterModelTable("idempotencykey", "runs_idempotencykey"),
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel(name) for name in ("Review", "SearchText", "IdempotencyKey")]
        ),
        migrations.RunPython(rename_types, migrations.RunPython.noop),
    ]
