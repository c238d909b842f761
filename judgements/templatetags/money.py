from django import template

from engine.llm import pricing

register = template.Library()
register.filter("dollars", pricing.format_dollars)


@register.filter
def group_thousands(number: int) -> str:
    return f"{number:,}"
