"""What agents do in the office. Each tool is one commit with its call, and none deletes."""

from . import calendar, documents, people, stock, tasks

TOOLS = (*people.TOOLS, *tasks.TOOLS, *calendar.TOOLS, *documents.TOOLS, *stock.TOOLS)
