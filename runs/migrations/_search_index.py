"""The index of words by which runs are found: FTS5 on SQLite, a GIN index on PostgreSQL."""

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


def create_index(apps, schema_editor):
    connection = schema_editor.connection
    if connection.vendor == "sqlite":
        statements = SQLITE
    else:
        with connection.cursor() as cursor:
            columns = connection.introspection.get_table_description(cursor, "runs_searchtext")
        statements = [] if any(column.name == "found_by" for column in columns) else POSTGRESQL
    for statement in statements:
        schema_editor.execute(statement)


def drop_index(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        for trigger in ("insert", "append", "change", "delete"):
            schema_editor.execute(f"DROP TRIGGER runs_words_{trigger}")
        schema_editor.execute("DROP TABLE runs_words")
    else:
        schema_editor.execute("ALTER TABLE runs_searchtext DROP COLUMN found_by")
