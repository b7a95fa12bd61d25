"""The dashboard: pages for a person who looks after memories, rendered on the server."""
