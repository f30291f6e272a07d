"""Names of files in which a project can name code for a tool that only looks, tool by tool."""

from __future__ import annotations

import posixpath
import sys

import msgspec


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
_NPMRC = r"(?i)registry|_auth|proxy|userconfig|globalconfig|node-?options|\bgit\b|\bca\b|cafile|\bcert|\bkey|\$\{|\\"
"""What makes a look at a registry go to another one, with what the environment or the user's own settings hold."""
_STAGES = ("production", "prod", "staging", "stage", "development", "dev", "preview", "test")
"""What a file of variables is named after; no other name is known to the catalog."""
_SENDS = "can send credentials to a host of its choice"
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
    "bun": (
        Sign(".npmrc", _NPMRC, does=_SENDS),
        Sign("bunfig.toml", r"(?i)registry|scope|token|preload|\bca|\$|\\", does=_SENDS),
        *(
            Sign(n, r"(?i)(?:BUN|NPM)_CONFIG|PROXY|NODE_", does=_SENDS)
            for n in (".env", ".env.local", ".env.production", ".env.production.local")
        ),
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
    "cdk": (Sign("cdk.json", r"\bplugin|\\u"), Sign("node_modules/aws-cdk"), Sign("node_modules/.bin/cdk")),
    "composer": tuple(Sign(n) for n in ("composer.json", "vendor/composer")),
    "conan": (Sign(".conanrc"),),
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
    "jsonlint": (
        *(Sign(f".jsonlintrc{end}") for end in ("", ".json", ".json5", ".yaml", ".yml", ".js", ".cjs", ".mjs")),
        *(Sign(f"jsonlint.config.{end}") for end in ("js", "cjs", "mjs")),
        Sign("package.json", r'"jsonlint"'),
    ),
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
    "mlr": (Sign(".mlrc", upward=False),),
    "node": (Sign("node_modules"), Sign(".pnp.cjs"), Sign(".pnp.js")),
    "npm": (Sign(".npmrc", _NPMRC, does=_SENDS),),
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
    "pulumi": tuple(
        Sign(n, r"(?i)backend|plugins|\\[xu]", does=_SENDS) for n in ("Pulumi.yaml", "Pulumi.yml", "Pulumi.json")
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
    "sentry": (Sign(".sentryclirc", does=_SENDS), Sign(".env", r"(?i)SENTRY|PROXY", does=_SENDS)),
    # Of some programs a project says which server they contact or what they list, and names no code.
    "settings": (),
    "supervisor": tuple(Sign(n, upward=False) for n in ("supervisord.conf", "etc/supervisord.conf")),
    "terraform": (Sign(".terraform", upward=False), Sign("terraform.rc", upward=False)),
    "tflint": (Sign(".tflint.hcl"), Sign(".tflint.d")),
    "uv": (Sign(".venv"), Sign(".python-version", r"[/\\]"), Sign(".python-versions", r"[/\\]")),
    "vagrant": (Sign("Vagrantfile"), Sign(".vagrant")),
    "wrangler": tuple(
        Sign(f".env{end}{local}", r"(?i)CLOUDFLARE_|CF_|WRANGLER_|PROXY|NODE_", does=_SENDS)
        for end in ("", *(f".{n}" for n in _STAGES))
        for local in ("", ".local")
    ),
    "yarn": (
        Sign(".yarnrc.yml", r"yarnPath|plugins|Path|registry|Registry"),
        Sign(".yarnrc", r"yarn-path|registry|script-shell"),
        Sign(".npmrc", _NPMRC, does=_SENDS),
        Sign("package.json", _PACKAGE),
        *(Sign(n) for n in (".yarn/releases", ".yarn/plugins", "yarn.config.cjs")),
    ),
}
"""What makes each tool run, load or fetch code that the project chose."""

_MODULES = sys.stdlib_module_names - {"test", "idlelib", "lib2to3", "turtledemo"}
IMPORTED = _MODULES | {"pip", "setuptools", "pkg_resources", "_distutils_hack", "keyring", "wheel", "packaging"}
ENDINGS = (".py", ".pyc", ".pyw", ".pyd", ".so")
"""How the files end that Python imports."""


def may_load(tool: str, path: str) -> bool:
    """Tell whether a tool that looks at a project would obey a file, by its path alone."""
    if tool in ("python", "pip"):
        folder, name = posixpath.split(path)
        stem, dot, ending = name.partition(".")
        module = posixpath.basename(folder) if stem == "__init__" else stem
        return module in IMPORTED and (dot + ending).endswith(ENDINGS)
    if tool == "git":
        return posixpath.basename(path) == "HEAD"  # the last of the files that make any folder a repository's store
    return any(f"/{sign.name}/" in f"{path}/" for sign in SIGNS.get(tool, ()))
