"""The pages of the dashboard: each reads its filters, calls a step and renders a template."""

from acumen.web.pages import (  # noqa: F401 - the import registers the pages
    actions,
    audit,
    changes,
    costs,
    duplicates,
    experiments,
    failures,
    login,
    memories,
    operations,
    overview,
    proposals,
    review_queue,
    sessions,
    settings,
    system,
    views,
)
