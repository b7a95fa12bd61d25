"""Lists as CSV."""

import csv
import io
from collections.abc import Iterable, Sequence

from starlette.responses import Response

from acumen.web.words import cell

MOST_ROWS = 10_000


def as_csv(filename: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Response:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([cell(value) for value in row] for row in rows)
    headers = {"Content-Disposition": f'attachment; filename="{filename}"'}
    return Response(out.getvalue().encode(), headers=headers, media_type="text/csv; charset=utf-8")
