"""Runs make runs, councils decide at gates, and an installation may want more than a procedure asks for."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from engine.ledger import immutability
from engine.migrations._aside import around

CHANGED = ("engine_run", "engine_gate", "engine_gatedecision")
ASIDE, BACK = around(*CHANGED, lifted=lambda: [immutability.ENGINE_TABLES[table] for table in CHANGED])



class Migration(migrations.Migration):

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('engine', '0020_outbox'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        ASIDE,
        migrations.CreateModel(
            name='GateRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('procedure', models.CharField(blank=True, max_length=40)),
                ('kind', models.CharField(blank=True, max_length=20)),
                ('effect', models.CharField(blank=True, max_length=12)),
                ('tool', models.CharField(blank=True, max_length=120)),
                ('who', models.CharField(blank=True, choices=[('', 'as the procedure says'), ('person', 'a person'), ('council', 'a council'), ('both', 'both')], max_length=8)),
                ('persons', models.PositiveSmallIntegerField(default=1)),
                ('four_eyes', models.BooleanField(default=False)),
                ('blind', models.BooleanField(default=False)),
                ('council', models.CharField(blank=True, max_length=120)),
                ('hours', models.PositiveIntegerField(blank=True, null=True)),
                ('expiry', models.CharField(blank=True, choices=[('', 'as the procedure says'), ('remind', 'remind'), ('reject', 'reject'), ('return', 'go on without')], max_length=8)),
            ],
            options={
                'ordering': ['procedure', 'kind', 'effect', 'tool'],
            },
        ),
        migrations.AlterModelOptions(
            name='gate',
            options={'ordering': ['pk'], 'permissions': [('decide_gate', "Can decide at everybody's gates"), ('override_gate', 'Can override a council at a gate, and look at what it says before it is shown')]},
        ),
        migrations.AddField(
            model_name='gate',
            name='council',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='asked_at', to='engine.run'),
        ),
        migrations.AddField(
            model_name='gate',
            name='effect',
            field=models.CharField(blank=True, db_default='', max_length=12),
        ),
        migrations.AddField(
            model_name='gate',
            name='hides',
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddField(
            model_name='gatedecision',
            name='judged_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.run'),
        ),
        migrations.AddField(
            model_name='gatedecision',
            name='knew_council',
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddField(
            model_name='run',
            name='step',
            field=models.CharField(blank=True, db_default='', max_length=80),
        ),
        migrations.AlterField(
            model_name='gate',
            name='state',
            field=models.CharField(choices=[('pending', 'Pending'), ('approved', 'Approved'), ('rejected', 'Rejected'), ('answered', 'Answered'), ('expired', 'Expired'), ('failed', 'Failed'), ('void', 'Void')], default='pending', max_length=10),
        ),
        migrations.AlterField(
            model_name='gatedecision',
            name='decision',
            field=models.CharField(choices=[('approve', 'Approve'), ('reject', 'Reject'), ('answer', 'Answer'), ('override', 'Override'), ('look', 'Look'), ('expire', 'Expire'), ('turn', 'Turn'), ('fail', 'Fail')], max_length=8),
        ),
        migrations.AddIndex(
            model_name='gate',
            index=models.Index(condition=models.Q(('hides', True)), fields=['council'], name='gate_that_hides'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.UniqueConstraint(fields=('parent', 'step'), name='one_child_of_a_step'),
        ),
        migrations.AddConstraint(
            model_name='gaterule',
            constraint=models.UniqueConstraint(fields=('procedure', 'kind', 'effect', 'tool'), name='one_rule_of_a_gate'),
        ),
        migrations.AddConstraint(
            model_name='gaterule',
            constraint=models.CheckConstraint(condition=models.Q(('persons__gte', 1), ('persons__lte', 3)), name='rule_of_few_persons'),
        ),
        BACK,
    ]
