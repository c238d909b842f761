"""Scopes of tokens; those made before may do what they could. Tokens of disabled accounts end for good."""

from django.db import migrations, models
from django.db.models.functions import Now

from engine.founding import at_founding
from magi_site.token_triggers import install_trigger, remove_trigger


def end(apps, schema_editor):
    apps.get_model("magi_site", "Token").objects.filter(owner__is_active=False, revoked=None).update(revoked=Now())
    install_trigger(schema_editor.connection)


def undo(apps, schema_editor):
    remove_trigger(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [("magi_site", "0002_groups")]
    operations = [
        migrations.AddField(
            "token",
            "scopes",
            models.CharField(blank=True, default="submit,steer", editable=False, max_length=200),
            preserve_default=False,  # it is what those made before there were scopes get, and no rule for new ones
        ),
        at_founding(migrations.RunPython(end, undo)),
    ]
