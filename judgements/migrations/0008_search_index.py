"""The words of the judgements that stand so far, and the index over all of them.

On SQLite a full-text table that keeps no text of its own. It knows words without positions, and beginnings of up to
three signs. Words are only ever added at a text's end, so a trigger indexes just what is new: a word that is indexed
twice for one row counts once. Our words are folded already and stand between spaces, so the tokenizer that leaves
everything beyond ASCII alone is right.
"""

from django.db import migrations

from engine.text.search_terms import label_term, index_words
from engine.on_schema import OnSchema

BATCH = 500

SQLITE = [
    """CREATE VIRTUAL TABLE judgements_words USING fts5(
        words, content='judgements_searchtext', content_rowid='id',
        detail=none, columnsize=0, prefix='1 2 3', tokenize="ascii tokenchars '_='"
    )""",
    """CREATE TRIGGER judgements_words_insert AFTER INSERT ON judgements_searchtext BEGIN
        INSERT INTO judgements_words(rowid, words) VALUES (new.id, new.words);
    END""",
    """CREATE TRIGGER judgements_words_append AFTER UPDATE OF words ON judgements_searchtext
    WHEN substr(new.words, 1, length(old.words) + 1) = old.words || ' ' BEGIN
        INSERT INTO judgements_words(rowid, words) VALUES (new.id, substr(new.words, length(old.words) + 1));
    END""",
    """CREATE TRIGGER judgements_words_change AFTER UPDATE OF words ON judgements_searchtext
    WHEN substr(new.words, 1, length(old.words) + 1) <> old.words || ' ' BEGIN
        INSERT INTO judgements_words(judgements_words, rowid, words) VALUES ('delete', old.id, old.words);
        INSERT INTO judgements_words(rowid, words) VALUES (new.id, new.words);
    END""",
    """CREATE TRIGGER judgements_words_delete AFTER DELETE ON judgements_searchtext BEGIN
        INSERT INTO judgements_words(judgements_words, rowid, words) VALUES ('delete', old.id, old.words);
    END""",
]

# The column stands in the table so that nobody takes the text to pieces again: a common word is met at once while reading
# backwards. Long texts lie beside the table.
POSTGRESQL = [
    """ALTER TABLE judgements_searchtext
    ALTER COLUMN words SET STORAGE EXTERNAL,
    ADD COLUMN found_by tsvector GENERATED ALWAYS AS (array_to_tsvector(string_to_array(words, ' '))) STORED""",
    "ALTER TABLE judgements_searchtext ALTER COLUMN found_by SET STORAGE EXTERNAL",
    "CREATE INDEX judgements_words ON judgements_searchtext USING gin (found_by)",
]


def fill(apps, schema_editor):
    Judgement = apps.get_model("judgements", "Judgement")
    pks = list(Judgement.objects.order_by("run__created", "pk").values_list("pk", flat=True))
    for start in range(0, len(pks), BATCH):
        _fill(apps, pks[start : start + BATCH])


def _fill(apps, pks):
    Judgement, SearchText, RoundDecision = (
        apps.get_model("judgements", name) for name in ("Judgement", "SearchText", "RoundDecision")
    )
    reasons: dict[object, list[str]] = {pk: [] for pk in pks}
    for pk, reason in RoundDecision.objects.filter(agent__judgement__in=pks).values_list("agent__judgement", "reason"):
        reasons[pk].append(reason)
    found = Judgement.objects.select_related("run", "council_version").in_bulk(pks)
    SearchText.objects.bulk_create(
        SearchText(judgement_id=pk, words=" ".join(_words(found[pk], reasons[pk]))) for pk in pks
    )


def _words(judgement, reasons):
    words = [label_term("id", str(judgement.pk)[:8]), label_term("by", judgement.run.owner_id)]
    if judgement.council_version:
        words.append(label_term("council", judgement.council_version.council_id))
    if judgement.verdict:
        words.append(label_term("verdict", judgement.verdict))
    return [*words, *index_words("\n".join([judgement.title, judgement.content, *reasons]))]


def index(apps, schema_editor):
    for statement in SQLITE if schema_editor.connection.vendor == "sqlite" else POSTGRESQL:
        schema_editor.execute(statement)


def unindex(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        for trigger in ("insert", "append", "change", "delete"):
            schema_editor.execute(f"DROP TRIGGER judgements_words_{trigger}")
        schema_editor.execute("DROP TABLE judgements_words")
    else:
        schema_editor.execute("ALTER TABLE judgements_searchtext DROP COLUMN found_by")


class Migration(migrations.Migration):
    dependencies = [("judgements", "0007_search_text")]
    operations = [
        OnSchema(index, unindex),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
