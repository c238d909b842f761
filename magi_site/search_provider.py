"""The provider of web search, from MAGI_SEARCH."""

from pydantic import SecretStr

from .model_providers import web_address

SERVICE_URLS = {"brave": "https://api.search.brave.com", "tavily": "https://api.tavily.com"}
TOOL_PREFIX = "mcp."


def search_provider(setting: str, brave: SecretStr | None, tavily: SecretStr | None) -> dict[str, str]:
    """A dict with `tool` (of an MCP server), or with `provider`, `address` and `key`; empty if there is no setting."""
    if not setting:
        return {}
    if setting.startswith(TOOL_PREFIX):
        return {"tool": setting}
    name, _, address = setting.partition(":")
    key = {"brave": brave, "tavily": tavily}.get(name)
    address = web_address(address) if address else SERVICE_URLS.get(name, "")
    return {"provider": name, "address": address, "key": key.get_secret_value() if key else ""}


def search_provider_problem(setting: str, brave: SecretStr | None, tavily: SecretStr | None) -> str:
    """What is wrong with MAGI_SEARCH, as the rest of a sentence that begins with its name; empty if it is valid."""
    name, _, address = setting.partition(":")
    if not setting or (setting.startswith(TOOL_PREFIX) and setting.count(".") >= 2):
        return ""
    if name not in ("searxng", *SERVICE_URLS):
        return "is none of searxng:URL, brave, tavily and mcp.SERVER.TOOL"
    if name == "searxng" and not address:
        return "names no address after searxng:"
    if name in SERVICE_URLS and not {"brave": brave, "tavily": tavily}[name]:
        return f"is {name}, and {name.upper()}_API_KEY is missing"
    try:
        if address:
            web_address(address)
    except ValueError as error:
        return str(error)
    return ""
