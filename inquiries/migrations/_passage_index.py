"""Full-text index of source passages, for SQLite and PostgreSQL."""

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


def create_index(apps, schema_editor):
    for statement in SQLITE if schema_editor.connection.vendor == "sqlite" else POSTGRESQL:
        schema_editor.execute(statement)
