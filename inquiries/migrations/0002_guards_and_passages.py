"""What may still happen to the rows, and the index over passages.

On SQLite the index is a full-text table that keeps no text of its own. Words are folded already and stand between
spaces, so the tokenizer that leaves everything beyond ASCII alone is right. A passage is made and taken away, and
never changed.
"""

from django.db import migrations

from engine.ledger import immutability
from engine.founding import at_founding
from engine.on_schema import OnSchema
from inquiries.guards import GUARDS

SQLITE = [
    """CREATE VIRTUAL TABLE inquiries_words USING fts5(
        words, content='inquiries_passage', content_rowid='id',
        detail=none, columnsize=0, tokenize="ascii tokenchars '_='"
    )""",
    """CREATE TRIGGER inquiries_words_insert AFTER INSERT ON inquiries_passage BEGIN
        INSERT INTO inquiries_words(rowid, words) VALUES (new.id, new.words);
    END""",
    """CREATE TRIGGER inquiries_words_delete AFTER DELETE ON inquiries_passage BEGIN
        INSERT INTO inquiries_words(inquiries_words, rowid, words) VALUES ('delete', old.id, old.words);
    END""",
]
POSTGRESQL = [
    """ALTER TABLE inquiries_passage
    ALTER COLUMN words SET STORAGE EXTERNAL,
    ADD COLUMN found_by tsvector GENERATED ALWAYS AS (array_to_tsvector(string_to_array(words, ' '))) STORED""",
    "CREATE INDEX inquiries_words ON inquiries_passage USING gin (found_by)",
]


def install(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, GUARDS.values())
    index(apps, schema_editor)


def index(apps, schema_editor):
    for statement in SQLITE if schema_editor.connection.vendor == "sqlite" else POSTGRESQL:
        schema_editor.execute(statement)


def lift(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, GUARDS.values())
    if schema_editor.connection.vendor == "sqlite":
        for trigger in ("insert", "delete"):
            schema_editor.execute(f"DROP TRIGGER inquiries_words_{trigger}")
        schema_editor.execute("DROP TABLE inquiries_words")
    else:
        schema_editor.execute("ALTER TABLE inquiries_passage DROP COLUMN found_by")


class Migration(migrations.Migration):
    dependencies = [("inquiries", "0001_initial"), ("engine", "0015_reviews")]
    operations = [at_founding(OnSchema(install, lift), index)]
