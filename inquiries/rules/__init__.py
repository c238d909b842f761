"""Rules of inquiries: states, next assignments and limits. They use no database and no framework."""
