"""Who might view judgements in the admin may see everybody's runs; the permissions of judgements say nothing any more."""

from django.contrib.auth.management import create_permissions
from django.db import migrations


def give(apps, schema_editor):
    Permission = apps.get_model("auth", "Permission")
    of_judgements = Permission.objects.filter(content_type__app_label="judgements", content_type__model="judgement")
    if of_judgements.exists():  # not in a new database
        engine = apps.get_app_config("engine")
        engine.models_module = True  # Django makes permissions when all migrations are done; this one is needed now
        create_permissions(engine, apps=apps, verbosity=0)
        engine.models_module = None
        see = Permission.objects.get(content_type__app_label="engine", codename="view_run")
        for viewing in of_judgements.filter(codename="view_judgement"):
            see.user_set.add(*viewing.user_set.all())
            see.group_set.add(*viewing.group_set.all())
        of_judgements.delete()


class Migration(migrations.Migration):
    dependencies = [
        ("judgements", "0017_receipts_say_who_judged"),
        ("engine", "0012_doctor_permission"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [
        migrations.AlterModelOptions(name="judgement", options={"default_permissions": ()}),
        migrations.RunPython(give, migrations.RunPython.noop),
    ]
