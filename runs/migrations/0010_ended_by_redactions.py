"""What shows a record ends with its texts; of those that were erased before, here."""

from typing import Any

from django.db import migrations
from django.utils import timezone


def end_shown(apps: Any, editor: Any) -> None:
    for name in ("Share", "Badge", "Given"):
        rows = apps.get_model("runs", name).objects.filter(run__redacted__isnull=False)
        rows.filter(ended=None).update(ended=timezone.now())
    apps.get_model("runs", "Share").objects.filter(run__redacted__isnull=False).update(for_whom="")
    apps.get_model("runs", "Badge").objects.filter(run__redacted__isnull=False).update(words="")


class Migration(migrations.Migration):
    dependencies = [("runs", "0009_given_looks"), ("engine", "0026_happenings")]
    operations = [migrations.RunPython(end_shown, migrations.RunPython.noop)]
