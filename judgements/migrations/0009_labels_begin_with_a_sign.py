"""Labels begin with a sign of their own, so that whoever types the beginning of a word meets none.

The migration before wrote them without it until then; where it writes them with it there is nothing to do.
"""

from django.db import migrations


def mark(apps, schema_editor):
    SearchText = apps.get_model("judgements", "SearchText")
    for pk, words in SearchText.objects.values_list("pk", "words").iterator():
        marked = " ".join(_marked(word) for word in words.split(" "))
        if marked != words:
            SearchText.objects.filter(pk=pk).update(words=marked)


def _marked(word):
    return f"={word}" if "=" in word and not word.startswith("=") else word


class Migration(migrations.Migration):
    dependencies = [("judgements", "0008_search_index")]
    operations = [migrations.RunPython(mark, migrations.RunPython.noop)]
