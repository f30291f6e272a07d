"""The hosts of package indexes are the user's own configuration, or what each manager says itself."""

from __future__ import annotations

import os
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from assent.sandbox.network.package_indexes import package_hosts, pip_variables

PIP = "from pip._internal.models.index import PyPI; print(PyPI.netloc, PyPI.file_storage_domain)"
NOBODY = {"PATH": os.environ["PATH"]}


def test_without_configuration_pip_says_where_it_looks():
    said = subprocess.run([sys.executable, "-c", PIP], capture_output=True, text=True, check=True)
    assert set(said.stdout.split()) <= set(package_hosts({}, "/nowhere"))


def test_without_configuration_npm_says_where_it_looks(tmp_path):
    words = ["npm", "config", "get", "registry", f"--userconfig={tmp_path}/u", f"--globalconfig={tmp_path}/g"]
    said = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path, env=NOBODY)
    assert urlsplit(said.stdout.strip()).hostname in package_hosts({}, "/nowhere")


CONFIGURED = [
    ({"PIP_INDEX_URL": "https://pip.example.com/simple"}, {}, "pip.example.com"),
    ({"UV_DEFAULT_INDEX": "https://uv.example.com:8443/simple"}, {}, "uv.example.com:8443"),
    ({}, {".config/pip/pip.conf": "[global]\nindex-url = https://pip.example.com/\n"}, "pip.example.com"),
    ({"npm_config_registry": "https://npm.example.com/"}, {}, "npm.example.com"),
    ({}, {".npmrc": "registry=https://npm.example.com/\n"}, "npm.example.com"),
    ({"GOPROXY": "https://go.example.com,direct"}, {}, "go.example.com"),
    ({}, {".cargo/config.toml": '[registries.own]\nindex = "sparse+https://rs.example.com/"\n'}, "rs.example.com"),
]


@pytest.mark.parametrize(("environ", "files", "host"), CONFIGURED)
def test_what_is_configured_is_reached(tmp_path, environ, files, host):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert host in package_hosts(environ, str(tmp_path))


@pytest.mark.parametrize("environ", [{"PIP_INDEX_URL": "https://a.example.com/"}, {"GOPROXY": "off"}])
def test_a_configured_index_replaces_the_managers_own(environ):
    assert len(package_hosts(environ, "/nowhere")) <= len(package_hosts({}, "/nowhere"))


@pytest.mark.parametrize("url", ["https://*/", "file:///x", "nonsense", "https://[::1/"])
def test_an_address_that_can_not_be_read_is_no_host(url):
    before = package_hosts({"PIP_INDEX_URL": "https://a.example.com/"}, "/nowhere")
    found = package_hosts({"PIP_INDEX_URL": "https://a.example.com/", "PIP_EXTRA_INDEX_URL": url}, "/nowhere")
    assert found == before


PIP_FILE = "[global]\nindex-url = https://a.example.com/simple\nextra-index-url =\n  https://b.example.com/\n  https://me:pw@c.example.com/\n"


def test_indexes_are_handed_in_without_passwords_and_what_is_set_already_stays(tmp_path):
    (tmp_path / ".pip").mkdir()
    (tmp_path / ".pip/pip.conf").write_text(PIP_FILE)
    extra = {"PIP_EXTRA_INDEX_URL": "https://b.example.com/"}
    assert (
        pip_variables({}, str(tmp_path)).items() >= {"PIP_INDEX_URL": "https://a.example.com/simple", **extra}.items()
    )
    assert "PIP_INDEX_URL" not in pip_variables({"PIP_INDEX_URL": "x"}, str(tmp_path))


def test_an_environment_in_the_project_names_no_index(tmp_path):
    (tmp_path / "pip.conf").write_text("[global]\nindex-url = https://evil.example.com/\n")
    assert "evil.example.com" not in package_hosts({"VIRTUAL_ENV": str(tmp_path)}, "/nowhere")
