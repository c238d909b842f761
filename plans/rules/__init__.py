"""Rules of plans. They use no database and no framework. Why so: plans/DESIGN.md, Plans."""
