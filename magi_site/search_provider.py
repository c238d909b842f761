"""Who is asked for a search of the web, as the environment says it."""

from pydantic import SecretStr

from .model_providers import web_address

SERVICE_URLS = {"brave": "https://api.search.brave.com", "tavily": "https://api.tavily.com"}
TOOL = "mcp."


def search_provider(said: str, brave: SecretStr | None, tavily: SecretStr | None) -> dict[str, str]:
    """`tool`: that of a server; otherwise provider, address and key. Empty where nobody is asked."""
    if not said:
        return {}
    if said.startswith(TOOL):
        return {"tool": said}
    name, _, address = said.partition(":")
    key = {"brave": brave, "tavily": tavily}.get(name)
    address = web_address(address) if address else SERVICE_URLS.get(name, "")
    return {"provider": name, "address": address, "key": key.get_secret_value() if key else ""}


def search_provider_problem(said: str, brave: SecretStr | None, tavily: SecretStr | None) -> str:
    """What is wrong with it; empty where nothing is."""
    name, _, address = said.partition(":")
    if not said or (said.startswith(TOOL) and said.count(".") >= 2):
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
