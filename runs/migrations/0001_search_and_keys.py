"""The words that runs are found by with the index over them, and the keys by which requests are sent again.

An installation of before has both tables already. On SQLite the index is a full-text table that keeps no text of its
own. It knows words without positions, and beginnings of up to three signs. Words are only ever added at a text's end,
so a trigger indexes just what is new: a word that is indexed twice for one row counts once. Our words are folded
already and stand between spaces, so the tokenizer that leaves everything beyond ASCII alone is right.
"""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from engine.founding import at_founding
from engine.migrations._taking_over import TakeOver
from engine.on_schema import OnSchema

SQLITE = [
    """CREATE VIRTUAL TABLE runs_words USING fts5(
        words, content='runs_searchtext', content_rowid='id',
        detail=none, columnsize=0, prefix='1 2 3', tokenize="ascii tokenchars '_='"
    )""",
    """CREATE TRIGGER runs_words_insert AFTER INSERT ON runs_searchtext BEGIN
        INSERT INTO runs_words(rowid, words) VALUES (new.id, new.words);
    END""",
    """CREATE TRIGGER runs_words_append AFTER UPDATE OF words ON runs_searchtext
    WHEN substr(new.words, 1, length(old.words) + 1) = old.words || ' ' BEGIN
        INSERT INTO runs_words(rowid, words) VALUES (new.id, substr(new.words, length(old.words) + 1));
    END""",
    """CREATE TRIGGER runs_words_change AFTER UPDATE OF words ON runs_searchtext
    WHEN substr(new.words, 1, length(old.words) + 1) <> old.words || ' ' BEGIN
        INSERT INTO runs_words(runs_words, rowid, words) VALUES ('delete', old.id, old.words);
        INSERT INTO runs_words(rowid, words) VALUES (new.id, new.words);
    END""",
    """CREATE TRIGGER runs_words_delete AFTER DELETE ON runs_searchtext BEGIN
        INSERT INTO runs_words(runs_words, rowid, words) VALUES ('delete', old.id, old.words);
    END""",
    "INSERT INTO runs_words(runs_words) VALUES ('rebuild')",
]

# The column stands in the table so that nobody takes the text to pieces again: a common word is met at once while reading
# backwards. Long texts lie beside the table.
POSTGRESQL = [
    """ALTER TABLE runs_searchtext
    ALTER COLUMN words SET STORAGE EXTERNAL,
    ADD COLUMN found_by tsvector GENERATED ALWAYS AS (array_to_tsvector(string_to_array(words, ' '))) STORED""",
    "ALTER TABLE runs_searchtext ALTER COLUMN found_by SET STORAGE EXTERNAL",
    "CREATE INDEX runs_words ON runs_searchtext USING gin (found_by)",
]


def index(apps, schema_editor):
    connection = schema_editor.connection
    if connection.vendor == "sqlite":
        statements = SQLITE
    else:
        with connection.cursor() as cursor:
            columns = connection.introspection.get_table_description(cursor, "runs_searchtext")
        statements = [] if any(column.name == "found_by" for column in columns) else POSTGRESQL
    for statement in statements:
        schema_editor.execute(statement)


def unindex(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        for trigger in ("insert", "append", "change", "delete"):
            schema_editor.execute(f"DROP TRIGGER runs_words_{trigger}")
        schema_editor.execute("DROP TABLE runs_words")
    else:
        schema_editor.execute("ALTER TABLE runs_searchtext DROP COLUMN found_by")


def of_run(related_name):
    return models.OneToOneField(
        on_delete=django.db.models.deletion.CASCADE, related_name=related_name, to="engine.run"
    )


KEY = ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"))


class Migration(migrations.Migration):
    initial = True
    dependencies = [("engine", "0015_reviews"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        TakeOver("SearchText", [KEY, ("words", models.TextField()), ("run", of_run("search"))]),
        TakeOver(
            "IdempotencyKey",
            [
                KEY,
                ("key", models.CharField(max_length=200)),
                ("request_hash", models.CharField(max_length=64)),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("run", of_run("request_key")),
            ],
            {"constraints": [models.UniqueConstraint("owner", "key", name="one_request_per_key")]},
        ),
        at_founding(OnSchema(index, unindex)),
    ]
