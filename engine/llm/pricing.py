"""Cost of model calls, in billionths of a US dollar: integers, so that sums are exact.

Prices declared in MAGI_PROVIDERS have precedence over those that the genai-prices library knows for the provider's
address. A price that neither knows is unknown (None), never free.
"""

from decimal import ROUND_CEILING, Decimal

from .providers import Provider, UnknownProvider, is_rehearsal, resolve_model

DOLLAR = 1_000_000_000
ANY_MODEL = "*"
LONGEST_NAME = 100


def cost(model: str, input_tokens: int | None, output_tokens: int | None) -> int | None:
    """Return the cost of one call in billionths of a US dollar, rounded up.

    None if the price or a token count is unknown; a rehearsal costs nothing.
    """
    if is_rehearsal(model):
        return 0
    if input_tokens is None or output_tokens is None:
        return None
    try:
        provider, name = resolve_model(model)
    except UnknownProvider:
        return None
    dollars = _declared(provider, name, input_tokens, output_tokens)
    if dollars is None:
        dollars = _published(provider, name, input_tokens, output_tokens)
    return None if dollars is None else int((dollars * DOLLAR).to_integral_value(ROUND_CEILING))


def _declared(provider: Provider, name: str, input_tokens: int, output_tokens: int) -> Decimal | None:
    price = provider.prices.get(name) or provider.prices.get(ANY_MODEL)
    if price is None:
        return None
    per_input, per_output = (Decimal(str(dollars)) / 1_000_000 for dollars in price)
    return per_input * input_tokens + per_output * output_tokens


def _published(provider: Provider, name: str, input_tokens: int, output_tokens: int) -> Decimal | None:
    if len(name) > LONGEST_NAME:
        return None  # the library caches every name that it looks up
    from genai_prices import Usage, calc_price  # a large import, needed only with models

    usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    try:
        # by address, not by name: another server under a known name has other prices
        return calc_price(usage, name, provider_api_url=provider.base_url).total_price
    except LookupError:
        return None


def to_decimal(amount: int | None) -> str | None:
    """Return the amount in US dollars for programs: "0.0123"."""
    return None if amount is None else f"{(Decimal(amount) / DOLLAR).normalize():f}"


def format_dollars(amount: int | None) -> str:
    """Return the amount for people: $0.0123, $4.56, or "unknown"."""
    if amount is None:
        return "unknown"
    value = Decimal(amount) / DOLLAR
    return f"${value:,.2f}" if value >= 1 or not amount else f"${value:.4f}"
