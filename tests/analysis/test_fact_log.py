"""The witness of a decision: what it asked of the world, and whether that still holds."""

from __future__ import annotations

import pytest

from assent.analysis.fact_log import watch
from assent.model import Facts


class World:
    def __init__(self) -> None:
        self.links = {"/a": "/b"}
        self.traps = {("git", "/a"): "a trap"}
        self.programs = {"/a/x"}
        self.files = {"/a"}
        self.asked = 0

    def resolve(self, path: str) -> str:
        self.asked += 1
        return self.links.get(path, path)

    def facts(self) -> Facts:
        return Facts(
            now=7.0,
            home="/h",
            resolve=self.resolve,
            trap=lambda tool, folder: self.traps.get((tool, folder)),
            is_program=self.programs.__contains__,
            exists=self.files.__contains__,
        )


def test_watched_facts_say_the_same():
    world = World()
    facts, _ = watch(world.facts())
    assert (facts.now, facts.home, facts.disk) == (7.0, "/h", "known")
    assert (facts.resolve("/a"), facts.resolve("/c")) == ("/b", "/c")
    assert (facts.trap("git", "/a"), facts.trap("git", "/c")) == ("a trap", None)
    assert (facts.is_program("/a/x"), facts.is_program("/c")) == (True, False)
    assert (facts.exists("/a"), facts.exists("/c")) == (True, False)


def test_a_question_is_asked_once():
    world = World()
    facts, witness = watch(world.facts())
    assert [facts.resolve("/a") for _ in range(3)] == ["/b"] * 3
    assert world.asked == 1
    assert witness.count == 1


def test_a_disk_that_can_not_be_asked_stays_one():
    facts, witness = watch(Facts())
    assert facts.disk == "unknown"
    assert facts.resolve("/a") is None
    assert witness.count == 0
    assert witness.holds(Facts())


def test_what_was_asked_must_be_answered_as_before():
    def asked() -> tuple[World, object]:
        world = World()
        facts, witness = watch(world.facts())
        for question in (facts.resolve, facts.is_program, facts.exists):
            question("/a")
        facts.trap("git", "/a")
        assert witness.count == 4
        assert witness.holds(world.facts())
        return world, witness

    world, witness = asked()
    world.links["/a"] = "/c"
    assert not witness.holds(world.facts())
    world, witness = asked()
    world.traps.clear()
    assert not witness.holds(world.facts())
    world, witness = asked()
    world.programs.add("/a")
    assert not witness.holds(world.facts())
    world, witness = asked()
    world.files.clear()
    assert not witness.holds(world.facts())


def test_what_was_not_asked_may_change():
    world = World()
    facts, witness = watch(world.facts())
    facts.resolve("/a")
    world.links["/c"] = "/d"
    world.traps.clear()
    world.programs.clear()
    assert witness.holds(world.facts())


def test_a_question_without_an_answer_is_no_ground_to_stand_on():
    broken = [True]

    def resolve(path: str) -> str:
        if broken:
            raise OSError(5, "io")
        return path

    facts, witness = watch(Facts(resolve=resolve))
    with pytest.raises(OSError, match="io"):
        facts.resolve("/a")
    broken.clear()
    assert facts.resolve("/a") == "/a"
    assert not witness.holds(Facts(resolve=resolve))


def test_what_rests_on_the_names_in_a_folder_holds_for_once_only():
    world = Facts(names=lambda folder: [(folder, True)])
    facts, witness = watch(world)
    assert witness.holds(world)
    assert facts.names("/a") == [("/a", True)]
    assert not witness.holds(world)
