"""The rules of a plan, known by no framework. Why so: docs/decisions.md, Plans."""
