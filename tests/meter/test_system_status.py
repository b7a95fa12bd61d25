"""The state of the server in numbers."""

from acumen.meter.system_status import Percentiles, percentiles


def test_percentiles_are_values_that_occurred():
    assert percentiles([float(value) for value in range(100)]) == Percentiles(50.0, 95.0, 99.0, 100)
    assert percentiles([3.0]) == Percentiles(3.0, 3.0, 3.0, 1)
    assert percentiles([]) is None
