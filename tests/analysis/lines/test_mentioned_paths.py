"""Words of which nobody knows what a program does with them: the paths and machines that they may name."""

from __future__ import annotations

import pytest

from assent.analysis.ir import Word
from assent.analysis.lines.mentioned_paths import MOST, mentioned_hosts, mentioned_paths
from assent.analysis.resources.paths import Place
from assent.model import COMMAND_EXECUTE, UNKNOWN, Facts, Operation
from lines import operations

PLACE = Place(Facts(home="/home/u"), "/code/app", ("/code/app",))


def paths(*texts: str, splits: bool = False) -> list[str]:
    words = [Word(t, splits=splits) for t in texts]
    return [p.replace(UNKNOWN, "…") for p in mentioned_paths(words, PLACE, "/code/app")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (".env", ["/code/app/.env"]),
        ("a/../b.txt", ["/code/app/b.txt"]),
        ("~/x", ["/home/u/x"]),
        ("x/.env:/y:ro", ["/code/app/x/.env:/y:ro", "/code/app/x/.env", "/y:ro", "/y"]),
        ("s=.env,d=y", ["/code/app/s=.env,d=y", "/code/app/s=.env", "/code/app/.env,d=y", "/code/app/.env"]),
        ("file://.env", ["/code/app/.env"]),
        ("a=file:///%2eenv", ["/.env"]),
        (".env,https://x.example/y", ["/code/app/.env"]),
        ("a=.env", ["/code/app/a=.env", "/code/app/.env"]),
        ("--file=.env", ["/code/app/file=.env", "/code/app/.env"]),
        ("-f.env", ["/code/app/.env"]),
        ("build", []),
        ("id_rsa", ["/code/app/id_rsa"]),
        ("https://x.example/.env", []),
        (".", []),
        ("-", []),
        (UNKNOWN, []),
        (f"a{UNKNOWN}.py", ["/code/app/a….py"]),
    ],
)
def test_a_word_that_looks_like_a_path_is_one(text: str, found: list[str]) -> None:
    assert paths(text) == found


def test_a_pattern_is_what_it_may_find() -> None:
    assert paths(".e*", splits=True) == ["/code/app/.e…"]


def test_a_link_is_also_what_it_leads_to() -> None:
    linked = Place(Facts(resolve=lambda p: p.replace("/a.txt", "/.env")), "/code", ("/code",))
    assert mentioned_paths([Word("a.txt")], linked, "/code") == ("/code/a.txt", "/code/.env")


def test_of_more_paths_than_are_looked_at_any_may_be_among_them() -> None:
    assert paths(*(f"{i}.txt" for i in range(MOST + 1))) == ["…"]
    assert len(paths(*(f"{i}.txt" for i in range(MOST)))) == MOST


def test_secrets_are_named_among_however_many_and_not_for_ever() -> None:
    assert paths(*(f"{i}.txt" for i in range(MOST + 1)), "x", ".env") == ["…", "/code/app/.env"]
    assert paths(".env", *(f"{i}.txt" for i in range(MOST + 1))) == ["…", "/code/app/.env"]
    assert len(paths(*(f"{i}/.env" for i in range(5 * MOST)))) < 3 * MOST


def test_machines_are_found_in_addresses() -> None:
    words = [Word(t) for t in ("--index=https://a.example/x", "git+ssh://b.example", "c.example", "https://a.example")]
    assert mentioned_hosts(words) == ("a.example", "b.example")


def commands(line: str) -> list[Operation]:
    return [o for o in operations(line) if o.kind is COMMAND_EXECUTE]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("someprog a.txt", ("/code/app/a.txt",)),
        ("python x.py a.txt", ("/code/app/a.txt",)),
        ("cat a.txt", ()),
        ("rm a.txt", ()),
        ("git commit -m a.txt", ()),
        ("cd sub && someprog a.txt", ("/code/app/sub/a.txt",)),
    ],
)
def test_only_words_of_which_nothing_is_known_are_mentioned(line: str, found: tuple[str, ...]) -> None:
    assert commands(line)[-1].mentions == found
