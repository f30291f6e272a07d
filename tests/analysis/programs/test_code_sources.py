"""Where commands take code from: the words that redirect them, and the files that they load."""

from __future__ import annotations

import pytest

from assent.analysis.programs.code_sources import _LEADS, MOST_LOADED, expand_loads
from assent.analysis.read import read
from assent.analysis.resources.paths import place_of
from assent.catalog import lookup
from assent.catalog.loader import entries, parse_entry
from assent.model import UNKNOWN, Facts, Session, ToolCall


def operation(line, cwd="/code/sub"):
    call = ToolCall(tool="Bash", input={"command": line}, cwd=cwd)
    return read(call, place_of(call, Session(workspace=("/code",)), Facts(resolve=str))).operations[0]


def redirected(line):
    found = operation(line)
    return [found.argv[index].replace(UNKNOWN, "…") for index in found.redirects]


REDIRECTED = {
    "npm test": [],
    "npm test --silent": [],
    "npm test --script-shell=./evil.sh": ["--script-shell=./evil.sh"],
    "npm test --script-she=./evil.sh": ["--script-she=./evil.sh"],
    "npm test --prefix ../x": ["--prefix"],
    "npm test -C ../x": ["-C"],
    "npm test --node-options=-r=./x": ["--node-options=-r=./x"],
    "npm --userconfig x test": ["--userconfig"],
    "npm test -- --script-shell=x": [],
    'npm test "$X"': ["…"],
    "npm test --$X": ["--…"],
    "npm run build --scr$X": ["--scr…"],
    'npm test --prefix "$X"': ["--prefix"],
    "pnpm -C web test": ["-C"],
    "pnpm test --config.script-shell=./x": ["--config.script-shell=./x"],
    "yarn --cwd x test": ["--cwd"],
    "npx --package evil tool --prefix x": ["--package"],
    "make test": [],
    "make -j4 test": [],
    "make -f x": ["-f"],
    "make -fx": ["-fx"],
    "make -sC x": ["-sC"],
    "make --direc=x": ["--direc=x"],
    "make test SHELL=./x": ["SHELL=./x"],
    "make test CC:=./x": ["CC:=./x"],
    "git push origin main": [],
    "git -C x push": ["-C"],
    "git -c core.pager=x push": ["-c"],
    "git -ccore.pager=x push": ["-ccore.pager=x"],
    "git --exec-path=x push": ["--exec-path=x"],
    "git --git-dir x push": ["--git-dir"],
    "git commit -m x -C HEAD": [],
    "git switch -c new": [],
    'git commit -m "$X"': [],
    "git push --receive-pack=./x": ["--receive-pack=./x"],
    "git fetch --upload-pack ./x": ["--upload-pack"],
    "git rebase -x ./x main": ["-x"],
    "git clone --template=x y": ["--template=x"],
    "cargo test --manifest-path x": ["--manifest-path"],
    "cargo run --config x": ["--config"],
    "pytest -q": [],
    "pytest -p evil": ["-p"],
    "pytest -pevil": ["-pevil"],
    "pytest -c x --rootdir y": ["-c", "--rootdir"],
    "python3 -m pytest -p evil": ["-p"],
    "uv run --with evil pytest": ["--with"],
    "go test ./...": [],
    "go test -exec ./x": ["-exec"],
    "go test --exec ./x": ["--exec"],
    "go build -toolexec=./x": ["-toolexec=./x"],
    "mvn test -f x": ["-f"],
    "mvn test -DargLine=x": ["-DargLine=x"],
    "gradle test -I x -b y": ["-I", "-b"],
    "./gradlew test -I x": ["-I"],
    ".venv/bin/pytest -p evil": ["-p"],
    "./unheard-of --prefix x": [],
    "docker -H x build .": ["-H"],
    "docker build -f x .": ["-f"],
    "docker rm -f x": [],
    "docker compose -f x up": ["-f"],
    "kubectl delete pod x --context prod": ["--context"],
    "kubectl --kubeconfig x apply -f y": ["--kubeconfig"],
    "terraform -chdir=x apply": ["-chdir=x"],
    "dotnet test /p:X=y": ["/p:X=y"],
    "tox --workdir x": ["--workdir"],
    "jest --reporters=./x": ["--reporters=./x"],
    "pnpm --frob": [],
    "tar -xf a.tar -C /elsewhere": [],
}


@pytest.mark.parametrize(("line", "words"), REDIRECTED.items())
def test_words_that_lead_to_other_code_are_found(line, words):
    assert redirected(line) == words


LOADED = {
    "npm test": ["package.json", ".npmrc", "/code/package.json", "/code/.npmrc"],
    "just x": ["justfile", "Justfile", ".justfile", ".env", "/code/justfile", "/code/Justfile", "/code/.justfile"],
    "make": ["GNUmakefile", "makefile", "Makefile", "*.mk"],
    "make -f other": ["other", "Makefile"],
    "make -C lib": ["lib/Makefile", "lib/*.mk"],
    "make -sClib": ["Clib/Makefile"],
    "make -sC lib": ["lib/Makefile"],
    "python3 -m a.b": ["a/b.py", "a/b/__main__.py", "a/b/__init__.py"],
    "pytest t/a.py::b": ["t/a.py", "conftest.py", "/code/conftest.py"],
    "docker build ctx": ["ctx", "ctx/Dockerfile", "Dockerfile"],
    "kubectl apply -f x.yaml": ["x.yaml"],
    "./mvnw test": ["pom.xml"],
}


@pytest.mark.parametrize(("line", "files"), LOADED.items())
def test_files_that_are_run_as_code_are_named(line, files):
    paths = list(expand_loads(operation(line).loads, ("/code",)))
    assert paths[0] == "/code/sub/"
    assert {f if f.startswith("/") else f"/code/sub/{f}" for f in files} <= set(paths)


def test_nothing_is_named_that_is_not_known():
    assert operation('make -f "$X"').loads == operation("make").loads
    assert not any("%" in load for load in operation('python3 -m "$X"').loads)
    assert not any("%" in load for load in operation("python3 x.py").loads)
    assert operation("cd $X && make").loads == ()
    assert operation("ls").loads == ()
    assert operation("make --version").loads == ()


def test_a_search_upward_ends_at_the_workspace_or_at_the_root():
    loads = operation("npm test").loads
    assert "/package.json" not in list(expand_loads(loads, ("/code",)))
    assert "/package.json" in list(expand_loads(loads, ()))
    assert list(expand_loads(("/.", "^x"), ("/",))) == ["/", "/x"]
    deep = operation("npm test", "/d" * 100).loads
    assert len(list(expand_loads(deep, ()))) < 200


def test_too_much_is_named_by_what_nobody_knows():
    found = operation("pytest " + " ".join(f"t{n}.py" for n in range(MOST_LOADED))).loads
    assert (len(found), found[-1]) == (MOST_LOADED + 1, UNKNOWN)
    assert UNKNOWN in list(expand_loads(found, ()))


HARMLESS = {
    ("docker", "--env"): "what a container is given; which one it is stands in the arguments",
    ("docker", "--env-file"): "the same",
    ("docker", "--env-from-file"): "the same",
    ("docker", "--health-cmd"): "runs in the container that the arguments name",
    ("docker", "--label-file"): "names for a container",
    ("docker", "--workdir"): "what a container is given",
    ("docker-compose", "--env"): "the same",
    ("docker-compose", "--env-file"): "the same",
    ("docker-compose", "--workdir"): "the same",
    ("gh", "--settings"): "which settings of a repository are shown or changed",
    ("gh", "--template"): "how output looks, or which text a request begins with",
    ("git", "--directory"): "where in the repository a patch is put",
    ("git", "--pathspec-from-file"): "names of files to restore",
    ("git", "--root"): "from which commit on",
    ("kubectl", "--command"): "how the arguments are taken",
    ("kubectl", "--env"): "what a container in the cluster is given",
    ("kubectl", "--save-config"): "whether the cluster keeps a note",
    ("pnpm", "--reporter"): "how output looks; a name from a fixed list",
    ("pnpm", "--workspace-root"): "the same project, at its root",
    ("rustup", "--path"): "whether a path is printed",
    ("rustup", "--toolchain"): "whose documentation is shown",
}
"""Described options that are called like one that redirects, and do not: each with the reason."""


def levels(entry, runs=False, above=frozenset()):
    """Yield every level at which code of a project may run, with the options that redirect it."""
    known = above | frozenset(entry.redirecting.split())
    runs = runs or bool(entry.obeys or entry.loads or entry.redirects)
    if runs and entry.tier.value != "safe":
        yield entry, known
    for child in entry.subcommands.values():
        yield from levels(child, runs, frozenset() if entry.leading else known)


def test_every_option_that_is_called_like_one_that_redirects_is_decided_about():
    found = {
        (part.names[0], option)
        for part in entries()
        for entry, known in levels(parse_entry(part))
        for option in entry.table
        if _LEADS.fullmatch(option.lower()) and option not in known
    }
    assert found == set(HARMLESS)


def test_what_loads_or_redirects_is_spelled_so_that_it_can_be_read():
    spelled = [entry for part in entries() for entry, _ in levels(parse_entry(part))]
    for word in {word for entry in spelled for word in entry.redirects.split()}:
        assert word.startswith(("-", "+", "@")) or word.endswith(("=", ":")), word
    for name in {name for entry in spelled for name in entry.loads.split()}:
        assert not name.startswith("/"), name
        assert name[0] != "@" or name in ("@args", "@args/") or name.startswith("@-"), name


def test_a_value_that_is_a_command_or_a_setting_redirects_by_what_it_is():
    assert "--receive-pack" in lookup("git").children["push"].redirecting.split()
    assert {"-C", "-c"} <= set(lookup("git").redirecting.split())
    assert "-C" not in lookup("tar").redirecting.split()
