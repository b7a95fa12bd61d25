"""What the soak concludes from its samples."""

import xml.etree.ElementTree as ET

import pytest

from bench.plot import Panel, plot
from bench.soak import Sample, metrics_of, slope


def sample(minute: float, server_mb: float) -> Sample:
    return Sample(minute, server_mb, 0.0, 0.0, 0.0, 0.0, 1, 1, 0, 0)


def test_a_slope_is_growth_an_hour():
    growing = [sample(minute, 100 + minute / 2) for minute in range(30)]
    noisy = [sample(minute, 100 + minute % 2) for minute in range(30)]

    assert slope(growing, lambda each: each.server_mb) == pytest.approx(30)
    assert abs(slope(noisy, lambda each: each.server_mb)) < 1


def test_figures_of_one_name_are_summed_over_their_labels():
    text = '# HELP jobs Jobs.\njobs{type="hour",state="due"} 2\njobs{type="minutes",state="due"} 3\nup 1\n'

    assert metrics_of(text) == {"jobs": 5.0, "up": 1.0}


def test_a_plot_is_an_image_with_a_line_for_each_series():
    image = plot("minutes", [0, 1, 2], [Panel("A & B", {"a": [1, 2, 3], "b": [0, 0, 0]}), Panel("C", {"c": [5, 5, 5]})])

    lines = [each for each in ET.fromstring(image).iter() if each.tag.endswith("polyline")]

    assert len(lines) == 3
    assert lines[0].attrib["points"].startswith("60.0,")
