"""Reads the public web, and nothing of this installation's network: search, pages, and their text."""
