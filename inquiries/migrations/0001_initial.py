import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models
from inquiries.migrations._passage_index import create_index


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('engine', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Collection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80, unique=True)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='Inquiry',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='inquiry', serialize=False, to='engine.run')),
                ('question', models.TextField(max_length=4000)),
                ('limits', models.JSONField()),
                ('retry_limit', models.PositiveSmallIntegerField()),
                ('web', models.BooleanField(default=False)),
                ('hosts', models.JSONField(default=list)),
                ('collections', models.JSONField(default=list)),
                ('prompt_version', models.CharField(max_length=20)),
                ('answer', models.TextField(blank=True)),
                ('trace', models.TextField(blank=True)),
                ('why', models.TextField(blank=True)),
                ('follows', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='followed_by', to='inquiries.inquiry')),
            ],
            options={
                'verbose_name_plural': 'inquiries',
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Assignment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('kind', models.CharField(choices=[('work', 'Work'), ('review', 'Review'), ('error', 'Error'), ('exhausted', 'Exhausted'), ('final', 'Final'), ('stop', 'Stop'), ('replan', 'Replan'), ('retry', 'Retry'), ('hint', 'Hint')], max_length=10)),
                ('station', models.CharField(max_length=20)),
                ('place', models.CharField(blank=True, max_length=40)),
                ('step_id', models.PositiveSmallIntegerField(null=True)),
                ('instruction', models.TextField(blank=True)),
                ('reply', models.TextField(blank=True)),
                ('counts', models.JSONField(default=dict)),
                ('decision', models.CharField(blank=True, max_length=10)),
                ('feedback', models.TextField(blank=True)),
                ('category', models.CharField(blank=True, max_length=20)),
                ('error_code', models.CharField(blank=True, max_length=40)),
                ('error', models.TextField(blank=True)),
                ('by_name', models.CharField(blank=True, max_length=150)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('call', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.modelcall')),
                ('gate', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.gate')),
                ('inquiry', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='orders', to='inquiries.inquiry')),
            ],
            options={
                'db_table': 'inquiries_order',
                'ordering': ['number'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='InquiryClaim',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('text', models.TextField(blank=True)),
                ('reasoned_from', models.JSONField(default=list)),
                ('bare', models.BooleanField(default=False)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('inquiry', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='claims', to='inquiries.inquiry')),
                ('order', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='claims', to='inquiries.assignment')),
            ],
            options={
                'db_table': 'inquiries_claim',
                'ordering': ['number'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='InquiryMove',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('place', models.CharField(max_length=40)),
                ('number', models.PositiveSmallIntegerField()),
                ('attempt', models.PositiveSmallIntegerField()),
                ('thought', models.TextField(blank=True)),
                ('tool', models.CharField(blank=True, max_length=120)),
                ('arguments', models.TextField(blank=True)),
                ('done', models.TextField(blank=True)),
                ('refused', models.TextField(blank=True)),
                ('result', models.TextField(blank=True)),
                ('settled', models.DateTimeField(null=True)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('call', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.modelcall')),
                ('inquiry', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='moves', to='inquiries.inquiry')),
                ('tool_call', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.toolcall')),
            ],
            options={
                'db_table': 'inquiries_move',
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='InquiryRole',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=20)),
                ('kind', models.CharField(choices=[('model', 'Model'), ('person', 'Person'), ('council', 'Council')], default='model', max_length=10)),
                ('model', models.CharField(max_length=200)),
                ('fallback', models.CharField(blank=True, max_length=200)),
                ('council', models.CharField(blank=True, max_length=100)),
                ('council_id', models.PositiveBigIntegerField(null=True)),
                ('hours', models.PositiveSmallIntegerField(null=True)),
                ('inquiry', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='posts', to='inquiries.inquiry')),
            ],
            options={
                'db_table': 'inquiries_post',
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='InquirySource',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('kind', models.CharField(choices=[('document', 'Document'), ('page', 'Page'), ('table', 'Table'), ('calculation', 'Calculation'), ('mcp', 'Tool of a server')], max_length=12)),
                ('title', models.CharField(blank=True, max_length=200)),
                ('asked', models.TextField(blank=True)),
                ('address', models.TextField(blank=True)),
                ('type', models.CharField(blank=True, max_length=100)),
                ('extractor', models.CharField(blank=True, max_length=40)),
                ('bytes_digest', models.CharField(blank=True, max_length=64)),
                ('text_digest', models.CharField(blank=True, max_length=64)),
                ('flags', models.JSONField(default=list)),
                ('read', models.TextField(blank=True)),
                ('length', models.PositiveIntegerField(default=0)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('document', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.document')),
                ('inquiry', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='sources', to='inquiries.inquiry')),
                ('tool_call', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.toolcall')),
            ],
            options={
                'db_table': 'inquiries_source',
                'ordering': ['number'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='ClaimQuote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField(blank=True)),
                ('parts', models.JSONField()),
                ('claim', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='quotes', to='inquiries.inquiryclaim')),
                ('source', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='quotes', to='inquiries.inquirysource')),
            ],
            options={
                'db_table': 'inquiries_quote',
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Roster',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60, unique=True)),
                ('created', models.DateTimeField(default=django.utils.timezone.now)),
                ('archived', models.DateTimeField(null=True)),
                ('locked', models.DateTimeField(null=True)),
                ('retention_days', models.PositiveIntegerField(default=365)),
                ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='RosterVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('name', models.CharField(max_length=60)),
                ('created', models.DateTimeField(default=django.utils.timezone.now)),
                ('about', models.CharField(blank=True, max_length=300)),
                ('posts', models.JSONField()),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('roster', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='inquiries.roster')),
            ],
            options={
                'ordering': ['-number'],
            },
        ),
        migrations.CreateModel(
            name='RosterChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('kind', models.CharField(choices=[('adopted', 'Adopted'), ('founded', 'Founded'), ('revised', 'Revised'), ('archived', 'Archived'), ('brought back', 'Brought Back'), ('locked', 'Locked'), ('unlocked', 'Unlocked'), ('kept', 'Kept')], max_length=12)),
                ('by', models.CharField(blank=True, max_length=150)),
                ('name', models.CharField(max_length=60)),
                ('owner', models.BigIntegerField(null=True)),
                ('owner_name', models.CharField(blank=True, max_length=150)),
                ('archived', models.BooleanField()),
                ('locked', models.BooleanField()),
                ('retention_days', models.PositiveIntegerField()),
                ('roster', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='changes', to='inquiries.roster')),
                ('version', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='inquiries.rosterversion')),
            ],
            options={
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.AddField(
            model_name='roster',
            name='current',
            field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='inquiries.rosterversion'),
        ),
        migrations.AddField(
            model_name='inquiry',
            name='roster_version',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='inquiries', to='inquiries.rosterversion'),
        ),
        migrations.CreateModel(
            name='SourcePassage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('start', models.PositiveIntegerField()),
                ('end', models.PositiveIntegerField()),
                ('words', models.TextField()),
                ('source', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='passages', to='inquiries.inquirysource')),
            ],
            options={
                'db_table': 'inquiries_passage',
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='CollectionDocument',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('title', models.CharField(max_length=120)),
                ('kind', models.CharField(choices=[('text', 'Text'), ('markdown', 'Markdown'), ('csv', 'CSV'), ('pdf', 'PDF')], max_length=10)),
                ('text', models.TextField()),
                ('digest', models.CharField(max_length=64)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='documents', to='inquiries.collection')),
            ],
            options={
                'ordering': ['title'],
                'constraints': [models.UniqueConstraint(models.F('collection'), models.F('title'), name='one_document_of_a_title')],
            },
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.UniqueConstraint(models.F('inquiry'), models.F('number'), name='one_order_of_a_number'),
        ),
        migrations.AddConstraint(
            model_name='inquiryclaim',
            constraint=models.UniqueConstraint(models.F('inquiry'), models.F('number'), name='one_claim_of_a_number'),
        ),
        migrations.AddConstraint(
            model_name='inquirymove',
            constraint=models.UniqueConstraint(models.F('inquiry'), models.F('place'), models.F('number'), name='one_inquiry_move_of_a_number'),
        ),
        migrations.AddConstraint(
            model_name='inquiryrole',
            constraint=models.UniqueConstraint(models.F('inquiry'), models.F('name'), name='one_post_of_a_name'),
        ),
        migrations.AddConstraint(
            model_name='inquirysource',
            constraint=models.UniqueConstraint(models.F('inquiry'), models.F('number'), name='one_source_of_a_number'),
        ),
        migrations.AddConstraint(
            model_name='rosterversion',
            constraint=models.UniqueConstraint(models.F('roster'), models.F('number'), name='one_roster_version_per_number'),
        ),
        migrations.RunPython(create_index, migrations.RunPython.noop),
    ]
