"""What this process counts while it works. Labels are names of ours, never of callers, so their number is bounded."""

from acumen.telemetry.instruments import Counter, Family, Histogram

REQUEST_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
JOB_BOUNDS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
UNMATCHED = "unmatched"


class Metrics:
    def __init__(self) -> None:
        self._requests = Counter(
            "acumen_requests_total", "Answered requests by route template.", "route", "method", "status"
        )
        self._request_seconds = Histogram(
            "acumen_request_seconds",
            "Time from the headers of a request to the end of its answer.",
            REQUEST_BOUNDS,
            "route",
            "method",
        )
        self._jobs = Counter("acumen_job_runs_total", "Jobs of this server and its workers.", "type", "result")
        self._job_seconds = Histogram(
            "acumen_job_seconds", "Duration of jobs of this server and its workers.", JOB_BOUNDS, "type"
        )

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        self._requests.add((route, method, str(status)))
        self._request_seconds.observe((route, method), seconds)

    def job(self, event: str, result: str, seconds: float) -> None:
        self._jobs.add((event, result))
        self._job_seconds.observe((event,), seconds)

    def families(self) -> list[Family]:
        instruments = (self._requests, self._request_seconds, self._jobs, self._job_seconds)
        return [instrument.family() for instrument in instruments]
