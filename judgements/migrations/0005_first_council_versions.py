from django.db import migrations


def make(apps, schema_editor):
    Council = apps.get_model("judgements", "Council")
    CouncilVersion = apps.get_model("judgements", "CouncilVersion")
    Member = apps.get_model("judgements", "Member")
    Judgement = apps.get_model("judgements", "Judgement")
    for council in Council.objects.all():
        version = CouncilVersion.objects.create(council=council, number=1, name=council.name)
        Member.objects.filter(council=council).update(version=version)
        Judgement.objects.filter(council=council).update(council_version=version)
        Council.objects.filter(pk=council.pk).update(current=version)


class Migration(migrations.Migration):
    dependencies = [("judgements", "0004_council_versions")]
    operations = [migrations.RunPython(make, migrations.RunPython.noop)]
