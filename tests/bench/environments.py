"""What others have made, and where that is installed."""

ENVIRONMENTS = {
    "langgraph": "langgraph",
    "langgraph-sqlite": "langgraph",
    "pydantic-ai": "pydantic_ai",
    "agent-framework": "agent_framework",
    "crewai": "crewai",
}
"""Each peer, and the name of its environment: of its requirements in this folder."""
