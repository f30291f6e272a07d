"""Files of a project that name code for a tool to run, whatever it is asked: what to look for, tool by tool."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH112, PTH118, PTH120

from __future__ import annotations

import os
import sys

import msgspec

import assent.regex as re
from assent.config.files import find_file

MOST_FOLDERS = 64
MOST_NAMES = 10_000


class Sign(msgspec.Struct, frozen=True):
    """A file or folder to look for; it counts if its text has something in it that matches."""

    name: str
    text: str = ""
    upward: bool = True
    """Also in the folders above."""
    does: str = "can name code to run"


_PACKAGE = r'"(?:packageManager|devEngines)"\s*:'
_FIXES = (
    r"(?m)^[ \t]*(?:[\w. \t\"'-]*\.)?[ \t]*[\"']?(?:fix|fix-only)[\"']?[ \t]*=[ \t]*true|\bruff[\"']?[ \t]*=[ \t]*\{"
    r"|^[ \t]*(?:tool\.ruff\.)?[\"']?extend[\"']?[ \t]*=|^[ \t]*write-changes\b"
    r"|^[ \t]*(?:[\w.]*\.)?[\"']?(?i:output_file)\b"
)
"""What makes a check write: it mends what it finds, or has settings somewhere else that may say so."""
SIGNS: dict[str, tuple[Sign, ...]] = {
    "ansible": tuple(
        Sign(n, upward=False)
        for n in ("ansible.cfg", "library", "module_utils", "plugins", "collections", "roles", "action_plugins")
    ),
    "ast-grep": tuple(Sign(n, "customLanguages") for n in ("sgconfig.yml", "sgconfig.yaml")),
    "bazel": (
        *(Sign(n) for n in ("WORKSPACE", "WORKSPACE.bazel", "MODULE.bazel", ".bazelrc", ".bazelversion")),
        *(Sign(n) for n in (".bazeliskrc", "tools/bazel", "tools/bazel.bat")),
    ),
    "bundler": tuple(Sign(n) for n in ("Gemfile", "gems.rb", ".bundle", "bin/rails", "bin/spring")),
    "cargo": (
        *(
            Sign(n, r"rustc|wrapper|linker|runner|credential|alias|include|\[env|\[target|build|path|source|registr")
            for n in (".cargo/config.toml", ".cargo/config")
        ),
        Sign("rust-toolchain.toml", r"\bpath\b"),
        Sign("rust-toolchain", r"\bpath\b|[/\\]"),
    ),
    "composer": tuple(Sign(n) for n in ("composer.json", "vendor/composer")),
    "ctags": tuple(Sign(n, upward=False) for n in (".ctags", ".ctags.d", "ctags.d")),
    "dotnet": (Sign("global.json", r'"(?:paths|msbuild-sdks)"'), Sign(".config/dotnet-tools.json")),
    "gradle": tuple(
        Sign(n)
        for n in (
            "gradle.properties",
            "gradle/gradle-daemon-jvm.properties",
            "settings.gradle",
            "settings.gradle.kts",
            "init.gradle",
        )
    ),
    "hg": (Sign(".hg/hgrc", r"\["), Sign(".hg/hgrc-not-shared", r"\["), Sign(".hgsub")),
    "jj": (Sign(".jj/repo/config.toml"), Sign(".jj/workspace-config.toml")),
    "lein": (Sign("project.clj"), Sign("profiles.clj"), Sign(".lein-env")),
    "luarocks": (Sign(".luarocks"), Sign("lua_modules")),
    "maven": (Sign(".mvn"),),
    "mise": tuple(
        Sign(n)
        for n in (
            "mise.toml",
            ".mise.toml",
            "mise.local.toml",
            ".mise.local.toml",
            "mise",
            ".mise",
            ".config/mise.toml",
            ".config/mise",
            ".rtx.toml",
            ".miserc.toml",
        )
    ),
    "node": (Sign("node_modules"), Sign(".pnp.cjs"), Sign(".pnp.js")),
    "pnpm": (
        *(Sign(n) for n in (".pnpmfile.cjs", ".pnpmfile.mjs", "pnpmfile.js")),
        Sign("package.json", _PACKAGE),
        Sign("pnpm-workspace.yaml", r"(?i)pnpmfile|configDependencies|registr|npmPath|scriptShell|nodeOptions|Version"),
        Sign(
            ".npmrc",
            r"(?i)pnpmfile|registry|npm-?path|script-?shell|node-?options|node-?version|global|(?m:^[^=\n]*\$\{)",
        ),
    ),
    "poetry": tuple(
        Sign(n)
        for n in (".poetry", ".venv", "poetry.toml", "pdm.toml", ".pdm-plugins", ".pdm-python", "__pypackages__")
    ),
    "python-tools": tuple(
        Sign(n)
        for n in (
            "conftest.py",
            "test/conftest.py",
            "tests/conftest.py",
            "pytest.ini",
            ".pytest.ini",
            "pyproject.toml",
            "tox.ini",
            "setup.cfg",
            "toxfile.py",
            ".flake8",
            ".pylintrc",
            "pylintrc",
            ".sqlfluff",
        )
    ),
    "fixers": tuple(
        Sign(n, _FIXES, does="can make a check change files")
        for n in ("pyproject.toml", "ruff.toml", ".ruff.toml", "setup.cfg", ".codespellrc", "radon.cfg")
    ),
    "rebar": (Sign("rebar.config"), Sign("rebar.config.script")),
    "sbt": (Sign(".sbtopts"), Sign(".jvmopts"), Sign("project/build.properties"), Sign("build.sbt")),
    "terraform": (Sign(".terraform", upward=False), Sign("terraform.rc", upward=False)),
    "tflint": (Sign(".tflint.hcl"), Sign(".tflint.d")),
    "uv": (Sign(".venv"), Sign(".python-version", r"[/\\]"), Sign(".python-versions", r"[/\\]")),
    "vagrant": (Sign("Vagrantfile"), Sign(".vagrant")),
    "yarn": (
        Sign(".yarnrc.yml", r"yarnPath|plugins|Path|registry|Registry"),
        Sign(".yarnrc", r"yarn-path|registry|script-shell"),
        Sign("package.json", _PACKAGE),
        *(Sign(n) for n in (".yarn/releases", ".yarn/plugins", "yarn.config.cjs")),
    ),
}
"""What makes each tool run, load or fetch code that the project chose."""

_SPELT = re.compile(r"\\(?:u00|x|U000000)(?:2[dD]|4[1-9a-fA-F]|5[0-9aAfF]|6[1-9a-fA-F]|7[0-9aA])")
"""A letter, dash or underscore written as its number: a key may be any that way, and nobody else writes one so."""
_MODULES = sys.stdlib_module_names - {"test", "this", "idlelib", "lib2to3", "turtledemo"}
_IMPORTED = _MODULES | {"pip", "setuptools", "pkg_resources", "_distutils_hack", "keyring", "wheel", "packaging"}
_ENDINGS = (".py", ".pyc", ".pyw", ".pyd", ".so")


def find_project_code(tool: str, folder: str, home: str | None) -> str | None:
    """Name a file that makes a tool run code of the project; None if there is none, or the tool is not known.

    The home directory and what is above it belong to no project: what is there is the user's own.
    """
    current = folder
    for level in range(MOST_FOLDERS):
        if current == home:
            break
        for sign in SIGNS.get(tool, ()):
            if (sign.upward or not level) and _is_there(os.path.join(current, sign.name), sign):
                return f"the project's {sign.name} {sign.does}"
        parent = os.path.dirname(current)
        if parent == current:
            break
        current = parent
    return None


def _is_there(path: str, sign: Sign) -> bool:
    if not sign.text:
        return os.path.lexists(path)
    content = find_file(path)
    text = "" if content is None else content.data.decode("utf-8", "replace")
    return re.search(sign.text, text) is not None or _SPELT.search(text) is not None


def find_shadow(folder: str) -> str | None:
    """Name a file in a folder that Python would import in place of a module of its own."""
    if not os.path.isdir(folder):
        return None
    with os.scandir(folder) as names:
        for seen, entry in enumerate(names):
            if seen >= MOST_NAMES:
                return "the folder holds more files than are looked at"
            stem = entry.name.partition(".")[0]
            if stem in _IMPORTED and _is_module(entry):
                return f"Python would load {entry.name} from the folder it runs in"
    return None


def _is_module(entry: os.DirEntry[str]) -> bool:
    if entry.is_dir():
        return any(os.path.lexists(os.path.join(entry.path, f"__init__{end}")) for end in (".py", ".pyc", ".so"))
    return entry.name.endswith(_ENDINGS)
