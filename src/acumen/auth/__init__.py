"""Authentication: who calls the API or the dashboard, and how a failure is answered."""
