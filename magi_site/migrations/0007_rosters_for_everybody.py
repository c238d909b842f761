"""Who may make crews may make rosters: everybody, unless an administrator has taken that away."""

from django.contrib.auth.management import create_permissions
from django.db import migrations

from magi_site.groups import EVERYBODY


def give(apps, schema_editor):
    config = apps.get_app_config("inquiries")  # Django makes permissions when all migrations are done
    config.models_module = True
    create_permissions(config, apps=apps, verbosity=0)
    config.models_module = None
    permissions = apps.get_model("auth", "Permission").objects
    rosters = permissions.get(content_type__app_label="inquiries", codename="add_roster")
    everybody = apps.get_model("auth", "Group").objects.filter(name=EVERYBODY)
    for group in everybody.filter(permissions__content_type__app_label="missions", permissions__codename="add_crew"):
        group.permissions.add(rosters)


class Migration(migrations.Migration):
    dependencies = [
        ("magi_site", "0006_crews_for_everybody"),
        ("inquiries", "0006_rosters"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [migrations.RunPython(give, migrations.RunPython.noop)]
