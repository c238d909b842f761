from django.contrib import admin

from runs.admin import KindAdmin

from .models import Debate


@admin.register(Debate)
class DebateAdmin(KindAdmin):
    kind = "debate"
