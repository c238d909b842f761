"""What the judgements that stand so far are found by besides their words: rehearsal or not, and their flags."""

from collections import defaultdict

from django.db import migrations

from engine.llm.providers import is_rehearsal
from judgements import rules
from engine.text.search_terms import label_term

BATCH = 500


def fill(apps, schema_editor):
    SearchText = apps.get_model("judgements", "SearchText")
    pks = list(SearchText.objects.order_by("pk").values_list("judgement", flat=True))
    for start in range(0, len(pks), BATCH):
        _fill(apps, schema_editor, pks[start : start + BATCH])


def _fill(apps, schema_editor, pks):
    SearchText, Agent = (apps.get_model("judgements", name) for name in ("SearchText", "Agent"))
    columns = ("judgement", "seat", "model", "decisions__round", "decisions__decision", "decisions__call__model")
    seated = defaultdict(list)
    for pk, *values in Agent.objects.filter(judgement__in=pks).order_by("seat").values_list(*columns):
        seated[pk].append(values)
    found = SearchText.objects.filter(judgement__in=pks).values_list("pk", "judgement", "judgement__verdict")
    words = [("".join(f" {word}" for word in _labels(seated[of], verdict)), pk) for pk, of, verdict in found]
    with schema_editor.connection.cursor() as cursor:
        cursor.executemany("UPDATE judgements_searchtext SET words = words || %s WHERE id = %s", words)


def _labels(seated, verdict):
    yield label_term("rehearsal", any(is_rehearsal(model) for _, model, *_ in seated))
    if not verdict or len(seated) < 9:
        return
    histories: dict[str, dict[int, rules.AgentDecision]] = defaultdict(dict)
    for seat, _, number, decision, _ in seated:
        histories[seat][number] = rules.AgentDecision(decision)
    flags = {
        "swayed": rules.is_swayed(histories),
        "carried": any(map(rules.is_carried, histories.values())),
        "changed": any(map(rules.rounds_with_change, histories.values())),
        "fallback": any(asked != model for _, model, _, _, asked in seated),
    }
    yield from (label_term("flag", name) for name, there in flags.items() if there)


class Migration(migrations.Migration):
    dependencies = [("judgements", "0011_idempotency_keys")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
