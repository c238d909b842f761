"""The groups Everybody and Reviewers, with their first rights. From then on they belong to the administrators."""

from django.contrib.auth.management import create_permissions
from django.db import migrations

from engine.founding import at_founding
from magi_site.groups import DEFAULT_PERMISSIONS, REVIEWERS, create_groups

APPS = ("engine", "judgements")
FIRST = DEFAULT_PERMISSIONS | {REVIEWERS: ("engine.view_run", "engine.export_run", "judgements.add_review")}  # its name then


def make(apps, schema_editor, labels=APPS, first=FIRST):
    for label in labels:  # Django makes permissions when all migrations are done; the groups need them now
        config = apps.get_app_config(label)
        config.models_module = True
        create_permissions(config, apps=apps, verbosity=0)
        config.models_module = None
    groups, permissions = (apps.get_model("auth", name).objects for name in ("Group", "Permission"))
    create_groups(groups, permissions, first)


def make_at_founding(apps, schema_editor):
    make(apps, schema_editor, [config.label for config in apps.get_app_configs()], DEFAULT_PERMISSIONS)


class Migration(migrations.Migration):
    dependencies = [
        ("magi_site", "0001_initial"),
        ("engine", "0008_run_permissions"),
        ("judgements", "0015_permissions"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [at_founding(migrations.RunPython(make, migrations.RunPython.noop), make_at_founding)]
