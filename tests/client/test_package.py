"""What the package promises on import."""

import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

import acumen_client


@pytest.mark.parametrize("name", acumen_client.__all__)
def test_every_public_name_is_there(name: str):
    assert getattr(acumen_client, name).__name__ == name


def test_public_names_are_sorted_and_unique():
    assert acumen_client.__all__ == sorted(set(acumen_client.__all__))


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Clientt'"):
        acumen_client.Clientt  # noqa: B018 - reading it is the test


def test_the_shapes_come_without_the_http_library():
    loaded = "import sys, acumen_client.calls; print([m for m in ('httpx', 'acumen') if m in sys.modules])"

    said = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)

    assert said.stdout.strip() == "[]"


def test_the_package_says_that_it_is_typed():
    assert (Path(acumen_client.__file__).parent / "py.typed").exists()


def test_dir_lists_every_public_name():
    assert set(acumen_client.__all__) <= set(dir(acumen_client))


def test_dir_lists_no_helpers():
    assert [name for name in dir(acumen_client) if not name.startswith("__")] == acumen_client.__all__


def test_help_describes_a_call_as_a_method_of_the_client():
    page = pydoc.plain(pydoc.render_doc(acumen_client.Client.search))

    assert page.startswith("Python Library Documentation: function search in module acumen_client.client")
    assert "query" in page
