from django import template

from engine.llm import prices

register = template.Library()
register.filter("dollars", prices.dollars)


@register.filter
def thousands(number: int) -> str:
    return f"{number:,}"
