"""The engine cache: one for each project, made again when its files change, and not without end."""

from __future__ import annotations

from assent.config.layers import Layers
from assent.decisions.engine_cache import EngineCache


class Files:
    """A project's files, as they are read."""

    def __init__(self, folder):
        self.folder, self.layers, self.fault = folder, Layers(), None

    def current(self):
        return self.layers


class World:
    """A cache, and what became of it."""

    def __init__(self, most=8):
        self.opened, self.heard = {}, []
        self.cache = EngineCache(
            lambda layers, fault: (layers, fault, object()),
            load=self.open,
            locate=lambda folder: folder.split("/")[0],
            follow=lambda live, before, made: self.heard.append((live.folder, before, made)),
            most=most,
        )

    def open(self, folder):
        return self.opened.setdefault(folder, Files(folder))


def test_folders_of_one_project_share_what_decides_while_its_files_stand():
    world = World()
    first = world.cache.find("a/x")
    assert world.cache.find("a/y") is first
    assert world.cache.find("b") is not first
    assert list(world.opened) == ["a/x", "b"]
    assert [made for _, _, made in world.heard] == [None] * 3


def test_it_is_made_again_when_the_files_change_or_break_and_whoever_follows_hears_of_it():
    world = World()
    first = world.cache.find("a")
    files = world.opened["a"]
    files.layers = Layers(notices=("changed",))
    second = world.cache.find("a")
    assert second is not first
    files.fault = "broken"
    third = world.cache.find("a")
    assert (third[0], third[1]) == (files.layers, "broken")
    assert world.cache.find("a") is third
    assert world.heard == [("a", None, None), ("a", None, second), ("a", None, third), ("a", "broken", None)]


def test_of_many_projects_those_that_were_asked_for_last_are_kept():
    world = World(most=2)
    first = world.cache.find("a")
    world.cache.find("b")
    world.cache.find("a")
    world.cache.find("c")
    assert world.cache.find("a") is first
    assert len(world.cache._entries) == 2
