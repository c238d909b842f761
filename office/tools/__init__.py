"""Tools of the example office. Each writes in the same transaction as its call, and none deletes."""

from . import calendar, documents, people, stock, tasks

TOOLS = (*people.TOOLS, *tasks.TOOLS, *calendar.TOOLS, *documents.TOOLS, *stock.TOOLS)
