"""The groups Everybody and Reviewers, with their first rights. From then on they belong to the administrators."""

from django.contrib.auth.management import create_permissions
from django.db import migrations

from magi_site.groups import FIRST_RIGHTS, REVIEWERS, make_groups

APPS = ("engine", "judgements")
FIRST = FIRST_RIGHTS | {REVIEWERS: ("engine.view_run", "engine.export_run", "judgements.add_review")}  # its name then


def make(apps, schema_editor):
    for label in APPS:  # Django makes permissions when all migrations are done; the groups need them now
        config = apps.get_app_config(label)
        config.models_module = True
        create_permissions(config, apps=apps, verbosity=0)
        config.models_module = None
    groups, permissions = (apps.get_model("auth", name).objects for name in ("Group", "Permission"))
    make_groups(groups, permissions, FIRST)


class Migration(migrations.Migration):
    dependencies = [
        ("magi_site", "0001_initial"),
        ("engine", "0008_run_permissions"),
        ("judgements", "0015_permissions"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [migrations.RunPython(make, migrations.RunPython.noop)]
