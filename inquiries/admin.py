from django.contrib import admin

from runs.admin import KindAdmin

from .models import Collection, CollectionDocument, Inquiry


@admin.register(Inquiry)
class InquiryAdmin(KindAdmin):
    kind = "inquiry"


class DocumentsInline(admin.TabularInline):
    """What is in it; files are read by `manage.py collection`."""

    model = CollectionDocument
    fields = readonly_fields = ("title", "kind", "digest", "made")
    extra = 0

    def has_add_permission(self, *_: object) -> bool:
        return False


@admin.register(Collection)
class CollectionAdmin(admin.ModelAdmin):
    inlines = (DocumentsInline,)
    readonly_fields = ("made",)
