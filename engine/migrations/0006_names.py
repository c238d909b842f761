"""The names of those who asked and cancelled so far."""

from django.conf import settings
from django.db import migrations
from django.db.models import OuterRef, Subquery


def fill(apps, schema_editor):
    Run = apps.get_model("engine", "Run")
    user_model = apps.get_model(*settings.AUTH_USER_MODEL.split("."))
    for key, name in (("owner", "asked_by"), ("cancelled_by", "cancelled_by_name")):
        of_user = Subquery(user_model.objects.filter(pk=OuterRef(key)).values("username"))
        Run.objects.filter(**{f"{key}__isnull": False}).update(**{name: of_user})


class Migration(migrations.Migration):
    dependencies = [("engine", "0005_evidence")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
