"""`acumen demo`: a day of agent work, played through a whole server."""
