"""Where the dashboard is served."""

ROOT = "/ui"
