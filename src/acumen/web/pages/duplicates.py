"""Clusters of duplicate memories, with the words that differ."""

from starlette.responses import Response

from acumen.model.ids import UserId
from acumen.model.memories.memory import searchable
from acumen.review import duplicate_clusters, duplicate_scan
from acumen.web.diff import words_changed
from acumen.web.page import Visit, page

CLUSTERS_PER_PAGE = 20


@page("/duplicates")
async def duplicates(visit: Visit) -> Response:
    scanning = await duplicate_scan.scan_pending(visit.deps)
    user = UserId(visit.param("user")) if visit.param("user") else None
    offset = (visit.page - 1) * CLUSTERS_PER_PAGE
    clusters, total = await duplicate_clusters.clusters(user, CLUSTERS_PER_PAGE, offset, visit.deps)
    texts = [[searchable(member.memory) for member in cluster.members] for cluster in clusters]
    return visit.html(
        "duplicates.html",
        clusters=clusters,
        texts=texts,
        # Each compared with the most injected member.
        diffs=[[words_changed(first, text) for text in others] for first, *others in texts],
        total=total,
        per_page=CLUSTERS_PER_PAGE,
        user=visit.param("user"),
        scanning=scanning,
    )
