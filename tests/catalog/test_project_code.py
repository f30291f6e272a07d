"""Which files a look would obey, by their names."""

from __future__ import annotations

import pytest

from assent.catalog.project_code import may_load

#: tool, path, whether it would be obeyed
PATHS = [
    ("python", "/ws/json.py", True),
    ("pip", "/ws/json/__init__.py", True),
    ("python", "/ws/json.cpython-311-x86_64-linux-gnu.so", True),
    ("python", "/ws/this.py", True),
    ("python", "/ws/json.txt", False),
    ("python", "/ws/app.py", False),
    ("python", "/ws/app/__init__.py", False),
    ("composer", "/ws/composer.json", True),
    ("composer", "/ws/vendor/composer/installed.php", True),
    ("composer", "/ws/my-composer.json", False),
    ("cargo", "/ws/.cargo/config.toml", True),
    ("git", "/ws/composer.json", False),
    ("git", "/ws/sub/HEAD", True),
    ("git", "/ws/HEAD.md", False),
]


@pytest.mark.parametrize(("tool", "path", "expected"), PATHS)
def test_a_file_is_obeyed_by_its_name(tool, path, expected):
    assert may_load(tool, path) is expected
