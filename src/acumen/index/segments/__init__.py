"""Large scopes on SQLite: the memories of one kind of an org in files that are mapped into memory."""
