"""The OpenAI-compatible API, by which clients of language models ask councils, panels, teams and crews.

Why so: runs/DESIGN.md, Other doors.
"""

from runs.chat import schemas

from .api import OPENAPI_SERVER, BearerAuth, MagiApi

DESCRIPTION = (
    "A council, panel, team or crew asked as if it were a language model: the base URL of any client that speaks to an "
    "OpenAI-compatible endpoint. What came of it is the answer. All else is in /api/v1."
)
EXAMPLE = f"""curl {OPENAPI_SERVER}/v1/chat/completions \\
  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
  -d '{{"model": "council/Magi", "messages": [{{"role": "user", "content": "Deploy on Friday at 16:00."}}]}}'"""

api = MagiApi(
    title="MAGI, as a model",
    description=DESCRIPTION,
    urls_namespace="model",
    auth=BearerAuth(),
    example=EXAMPLE,
    problem=schemas.ChatErrorResponse,
    problems=schemas.error_responses,
)
api.add_router("", "runs.chat.endpoints.router")
