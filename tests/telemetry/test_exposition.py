"""The text format of Prometheus, read by Prometheus' own parser."""

from prometheus_client.parser import text_string_to_metric_families

from acumen.telemetry import exposition, process
from acumen.telemetry.instruments import Counter, Family, Histogram, Sample


def parsed(*families: Family) -> dict[str, list[tuple[dict[str, str], float]]]:
    text = exposition.render(families).decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {
        name: [(sample.labels, sample.value) for sample in samples if sample.name == name]
        for name in {sample.name for sample in samples}
    }


def test_labels_and_help_survive_quotes_backslashes_and_newlines():
    hostile = 'a "quoted" \\ back\nslash'
    family = Family("odd", "gauge", hostile, [Sample(1.5, {"label": hostile})])

    (read,) = text_string_to_metric_families(exposition.render([family]).decode())

    assert (read.documentation, read.type) == (hostile, "gauge")
    assert [(sample.labels, sample.value) for sample in read.samples] == [({"label": hostile}, 1.5)]


def test_counts_are_added_by_label():
    counter = Counter("jobs_total", "Jobs.", "type", "result")
    counter.add(("hour", "done"))
    counter.add(("hour", "done"), 2)
    counter.add(("hour", "failed"))

    assert parsed(counter.family())["jobs_total"] == [
        ({"type": "hour", "result": "done"}, 3.0),
        ({"type": "hour", "result": "failed"}, 1.0),
    ]


def test_buckets_of_a_histogram_are_cumulative_and_a_bound_belongs_to_its_bucket():
    histogram = Histogram("seconds", "Durations.", (0.1, 1.0), "route")
    for seconds in (0.05, 0.1, 0.5, 3.0):
        histogram.observe(("/a",), seconds)

    read = parsed(histogram.family())

    assert [(labels["le"], value) for labels, value in read["seconds_bucket"]] == [("0.1", 2), ("1", 3), ("+Inf", 4)]
    assert read["seconds_count"] == [({"route": "/a"}, 4.0)]
    assert read["seconds_sum"] == [({"route": "/a"}, 3.65)]


def test_the_process_reports_its_memory_time_and_descriptors():
    before = parsed(*process.families())
    ballast = bytearray(64 * 1024 * 1024)
    ballast[::4096] = b"x" * len(ballast[::4096])
    after = parsed(*process.families())

    grown = after["process_resident_memory_bytes"][0][1] - before["process_resident_memory_bytes"][0][1]
    assert grown > 32 * 1024 * 1024
    assert after["process_cpu_seconds_total"][0][1] > before["process_cpu_seconds_total"][0][1] >= 0
    assert 3 <= after["process_open_fds"][0][1] < after["process_max_fds"][0][1]
