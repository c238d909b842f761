"""What was judged so far is found by the names of its agents, too. What was redacted has no words any more.

Batch by batch, each for itself: nobody waits for the write lock until all are done. A migration that was broken off
begins anew, and a word that is there twice counts once.
"""

from collections import defaultdict

from django.db import migrations, transaction

from engine.text.search_terms import index_words

BATCH = 500


def fill(apps, schema_editor):
    SearchText = apps.get_model("runs", "SearchText")
    found = SearchText.objects.filter(run__procedure="judgement", run__redacted=None).order_by("pk")
    numbers = list(found.values_list("pk", "run"))
    for start in range(0, len(numbers), BATCH):
        with transaction.atomic():
            _fill(apps, schema_editor, numbers[start : start + BATCH])


def _fill(apps, schema_editor, numbers):
    named = defaultdict(list)
    agents = apps.get_model("judgements", "Agent").objects.filter(judgement__in=[run for _, run in numbers])
    for run, name in agents.order_by("seat").values_list("judgement", "name"):
        named[run].append(name)
    words = [("".join(f" {word}" for word in index_words(" ".join(named[run]))), pk) for pk, run in numbers if named[run]]
    with schema_editor.connection.cursor() as cursor:
        cursor.executemany("UPDATE runs_searchtext SET words = words || %s WHERE id = %s", words)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("judgements", "0022_what_all_runs_have"), ("runs", "0001_search_and_keys")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
