"""Prompts of inquiries, and parsing of answers. They use no database and no framework."""

PROMPT_VERSION = "5"  # increase with every change of a prompt's text
