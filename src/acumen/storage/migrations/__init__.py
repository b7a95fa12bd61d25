"""The history of the schema, for both databases.

A revision that has landed is never edited: databases exist that ran it as it was. Change the schema with a new
revision, and add its checksum to `LANDED` in `tests/storage/engine/test_migrate.py`. The revisions between two releases
are squashed into one, which begins at the schema of the release before.
"""
