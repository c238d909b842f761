"""The product's own documents as sources, for inquiries without others, and example questions about them."""

from functools import lru_cache
from pathlib import Path

from engine.models import NewDocument
from toolbox import documents

from .models import DOCUMENTS

ROOT = Path(__file__).resolve().parent.parent
FILES = ("README.md", "docs/glossary.md", "docs/configuration.md", "docs/audit.md", "docs/plans.md")
QUESTIONS = (
    "How is a judgement approved by its three agents?",
    "What becomes of the texts of a record that is redacted?",
)


@lru_cache(maxsize=1)
def about_magi() -> tuple[NewDocument, ...]:
    """Return the product's own documents."""
    files = (ROOT / name for name in FILES)
    return tuple(documents.read_document(file.name, file.read_bytes(), DOCUMENTS) for file in files)
