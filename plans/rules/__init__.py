"""Rules of plans. They use no database and no framework. Why so: docs/decisions.md, Plans."""
