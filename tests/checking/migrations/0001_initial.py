import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('engine', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Check',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='checked', serialize=False, to='engine.run')),
                ('question', models.TextField()),
                ('writer', models.CharField(max_length=200)),
                ('checker', models.CharField(max_length=200)),
                ('policy', models.JSONField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Draft',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField()),
                ('call', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.modelcall')),
                ('subject', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='draft', to='checking.check')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Report',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('finding', models.CharField(max_length=10)),
                ('call', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.modelcall')),
                ('subject', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='report', to='checking.check')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Summary',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField()),
                ('call', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.modelcall')),
                ('subject', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='summary', to='checking.check')),
            ],
            options={
                'abstract': False,
            },
        ),
    ]
