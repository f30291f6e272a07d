"""What a project's files name for tools to run is found, and what belongs to the user is left alone."""

from __future__ import annotations

from typing import get_args

import pytest

from assent.catalog.project_code import SIGNS
from assent.catalog.schema import Kind
from assent.platform import project_code
from assent.platform.project_code import find_project_code, find_shadow
from assent.platform.repository_settings import find_trap

#: tool, file, what is in it, whether that is a trap
FILES = [
    ("yarn", ".yarnrc.yml", "yarnPath: .yarn/releases/yarn.cjs", True),
    ("yarn", ".yarnrc.yml", "nodeLinker: node-modules", False),
    ("yarn", ".yarnrc", 'yarn-path "./x.js"', True),
    ("yarn", "package.json", '{"packageManager": "yarn@4.0.0"}', True),
    ("yarn", "package.json", '{"name": "x"}', False),
    ("pnpm", ".pnpmfile.cjs", "", True),
    ("pnpm", ".npmrc", "registry=https://x.example", True),
    ("pnpm", ".npmrc", "save-exact=true", False),
    ("npm", ".npmrc", "registry=https://x.example", True),
    ("npm", ".npmrc", "//x.example/:_authToken=${NPM_TOKEN}", True),
    ("npm", ".npmrc", '"regis\\u0074ry"=https://x.example', True),
    ("npm", ".npmrc", "save-exact=true\nengine-strict=true", False),
    ("yarn", ".npmrc", "registry=https://x.example", True),
    ("bun", "bunfig.toml", "[install]\nregistry = 'https://x.example'", True),
    ("bun", "bunfig.toml", "[test]\ncoverage = true", False),
    ("bun", ".env", "NPM_CONFIG_REGISTRY=https://x.example", True),
    ("pulumi", "Pulumi.yaml", "backend: {url: https://x.example}", True),
    ("pulumi", "Pulumi.yaml", "name: x\nruntime: nodejs", False),
    ("wrangler", ".env", "CLOUDFLARE_API_BASE_URL=https://x.example", True),
    ("wrangler", ".env", "DATABASE=x", False),
    ("sentry", ".sentryclirc", "[defaults]\nurl=https://x.example", True),
    ("supervisor", "supervisord.conf", "", True),
    ("conan", ".conanrc", "conan_home=./x", True),
    ("pnpm", "pnpm-workspace.yaml", "packages: ['x']", False),
    ("pnpm", "pnpm-workspace.yaml", "configDependencies: {x: 1}", True),
    ("cargo", "rust-toolchain", "stable", False),
    ("cargo", "rust-toolchain", "[toolchain]\n'path' = 'x'", True),
    ("cargo", "rust-toolchain.toml", '[toolchain]\n"path" = "./x"', True),
    ("cargo", "rust-toolchain.toml", '[toolchain]\n"p\\u0061th" = "./x"', True),
    ("cargo", ".cargo/config.toml", '["b\\u0075ild"]\n"r\\U00000075stc" = "./x"', True),
    ("yarn", ".yarnrc.yml", '"yarnP\\x61th": ./x', True),
    ("yarn", ".yarnrc", '"yarn\\u002dpath" "./x"', True),
    ("yarn", "package.json", '{"package\\u004danager": "yarn@4.0.0"}', True),
    ("yarn", "package.json", '{"author": "J\\u00e9r\\u00f4me \\u003cj@x\\u003e"}', False),
    ("pnpm", ".npmrc", "pnpm${UNSET-}file=./x", True),
    ("fixers", "pyproject.toml", "[tool]\nruff . 'fix' = true", True),
    ("cargo", "rust-toolchain", "[toolchain]\npath = './x'", True),
    ("cargo", "rust-toolchain.toml", "[toolchain]\nchannel = 'stable'", False),
    ("terraform", ".terraform/providers/x", "", True),
    ("node", "node_modules/x/index.js", "", True),
    ("bundler", "Gemfile", "", True),
    ("dotnet", "global.json", '{"sdk": {"paths": ["./x"]}}', True),
    ("dotnet", "global.json", '{"sdk": {"version": "8.0.100"}}', False),
    ("maven", ".mvn/jvm.config", "", True),
    ("bazel", "tools/bazel", "", True),
    ("mise", "mise.toml", "", True),
    ("ast-grep", "sgconfig.yml", "customLanguages:\n  x:\n    libraryPath: x.so", True),
    ("ast-grep", "sgconfig.yml", "ruleDirs: [rules]", False),
    ("uv", ".venv/bin/python", "", True),
    ("ctags", ".ctags.d/x.ctags", "-o Makefile", True),
    ("uv", ".python-version", "./x/bin/python", True),
    ("uv", ".python-version", "3.12", False),
    ("poetry", ".venv/bin/python", "", True),
    ("python-tools", "conftest.py", "", True),
    ("vagrant", "Vagrantfile", "", True),
    ("fixers", "pyproject.toml", "[tool.ruff]\nfix = true", True),
    ("fixers", "pyproject.toml", "[tool]\nruff.fix-only=true", True),
    ("fixers", "pyproject.toml", "[tool.ruff]\nfix = false\nprefix = true", False),
    ("fixers", "ruff.toml", "extend = '../x.toml'", True),
    ("fixers", ".ruff.toml", "line-length = 100", False),
    ("fixers", "setup.cfg", "[codespell]\nwrite-changes =", True),
    ("fixers", "setup.cfg", "[radon]\nOutput_File = x", True),
    ("fixers", "radon.cfg", "[radon]\n output_file: x", True),
    ("fixers", "radon.cfg", "[radon]\ncc_min = B", False),
    ("fixers", "pyproject.toml", "[tool.radon]\noutput_file = 'x'", True),
]


@pytest.mark.parametrize(("tool", "name", "text", "trap"), FILES)
def test_a_file_that_names_code_is_a_trap_in_its_folder(tmp_path, tool, name, text, trap):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    assert (find_trap(tool, str(tmp_path)) is not None) is trap


@pytest.mark.parametrize("tool", SIGNS)
def test_an_empty_folder_has_no_trap(tmp_path, tool):
    assert find_project_code(tool, str(tmp_path), None) is None


@pytest.mark.parametrize(("tool", "name", "text", "trap"), [f for f in FILES if f[3]])
def test_what_is_above_counts_up_to_the_home_directory(tmp_path, tool, name, text, trap):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    only_here = tool in ("ctags", "supervisor", "terraform")
    assert (find_project_code(tool, str(inner), None) is None) is only_here
    assert find_project_code(tool, str(inner), str(tmp_path)) is None
    assert find_project_code(tool, str(tmp_path), str(tmp_path)) is None


def test_a_file_that_can_not_be_read_is_a_trap(tmp_path):
    (tmp_path / "package.json").mkdir()
    assert find_trap("yarn", str(tmp_path)) is not None


def test_the_search_upward_is_bounded(tmp_path, monkeypatch):
    (tmp_path / "Gemfile").write_text("")
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.setattr(project_code, "MOST_FOLDERS", 2)
    assert find_project_code("bundler", str(tmp_path / "a" / "b"), None) is None
    assert find_project_code("bundler", str(tmp_path / "a"), None) is not None


def test_every_kind_that_an_entry_may_obey_is_looked_for():
    assert {k for k in get_args(Kind) if k} == {*SIGNS, "git", "python", "pip"}


#: a file, and whether Python run in its folder would load it
MODULES = [
    ("json.py", True),
    ("json/__init__.py", True),
    ("json/x.py", False),
    ("argparse.cpython-311-x86_64-linux-gnu.so", True),
    ("re.pyc", True),
    ("json.txt", False),
    ("app.py", False),
    ("pip.py", True),
    ("test/__init__.py", False),
]


@pytest.mark.parametrize(("name", "loaded"), MODULES)
def test_a_file_by_the_name_of_a_module_of_python_is_a_trap(tmp_path, name, loaded):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    for tool in ("python", "pip"):
        assert (find_trap(tool, str(tmp_path)) is not None) is loaded


def test_a_folder_that_is_too_large_may_hold_anything(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("")
    monkeypatch.setattr(project_code, "MOST_NAMES", 0)
    assert find_shadow(str(tmp_path)) is not None


def test_a_folder_that_is_not_there_holds_nothing(tmp_path):
    assert find_shadow(str(tmp_path / "x")) is None
