"""The door: what the API and the dashboard share. Who is calling, and how a failure is told."""
