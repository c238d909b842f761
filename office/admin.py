"""Admin pages of the example office."""

from django.contrib import admin

from .models import CalendarEntry, Item, OfficeDocument, OfficeDocumentVersion, Person, Request, Task


@admin.register(Person)
class PersonAdmin(admin.ModelAdmin):
    list_display = ["name", "mail", "role", "unit", "manager", "start", "example"]
    search_fields = ["name", "mail", "role", "unit"]
    list_filter = ["unit", "example"]
    list_select_related = ["manager"]
    raw_id_fields = ["manager"]


@admin.register(Task)
class TaskAdmin(admin.ModelAdmin):
    list_display = ["title", "assignee", "due", "state", "example"]
    search_fields = ["title", "details"]
    list_filter = ["state", "example"]
    list_select_related = ["assignee"]
    raw_id_fields = ["assignee"]


@admin.register(CalendarEntry)
class CalendarEntryAdmin(admin.ModelAdmin):
    list_display = ["title", "start", "end", "place", "example"]
    search_fields = ["title", "place"]
    list_filter = ["example"]
    date_hierarchy = "start"
    raw_id_fields = ["people"]


class DocumentVersionInline(admin.TabularInline):
    model = OfficeDocumentVersion
    extra = 0
    can_delete = False
    readonly_fields = fields = ("number", "made", "text")

    def has_add_permission(self, *_: object) -> bool:
        return False


@admin.register(OfficeDocument)
class OfficeDocumentAdmin(admin.ModelAdmin):
    list_display = ["name", "version", "outside", "example"]
    search_fields = ["name", "text"]
    list_filter = ["outside", "example"]
    readonly_fields = ["version"]
    inlines = [DocumentVersionInline]


@admin.register(Item)
class StockItemAdmin(admin.ModelAdmin):
    list_display = ["name", "kind", "number", "price", "place", "example"]
    search_fields = ["name", "kind", "place"]
    list_filter = ["kind", "example"]


@admin.register(Request)
class PurchaseRequestAdmin(admin.ModelAdmin):
    list_display = ["__str__", "description", "total", "asked_for", "made", "example"]
    readonly_fields = ["lines", "total", "made"]
    list_filter = ["example"]

    def has_add_permission(self, request: object) -> bool:
        """Requests are made by the tool only, since it computes the total."""
        return False
