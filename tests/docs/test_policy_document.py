"""The pages about policy and profiles have every key, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import yaml

from assent.catalog.schema import Clause, Entry, Examples, Role, Runs, Style
from assent.config import assent_yaml, profiles_block
from assent.config.settings import BY_NAME, SETTINGS
from assent.model import MODE_ALIASES, Mode

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = {
    page: [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]
    for page in ("policy", "sandbox")
    if (text := (DOCS / f"{page}.md").read_text())
}
KEYS = BLOCKS["policy"][0]


def test_every_key_of_a_file_is_in_the_block_of_keys_and_no_other():
    assert set(KEYS) == set(assent_yaml._TOP_KEYS)
    assert set(KEYS["permissions"]) == set(assent_yaml._PERMISSION_KEYS)
    assert set(KEYS["permissions"]["read"]) == {"allow", "deny", "default"}


def test_every_key_of_a_rule_is_shown_in_a_rule_and_no_other():
    found: set[str] = set()
    for block in BLOCKS["policy"]:
        permissions = block.get("permissions") or {}
        rules = [rule for effect in ("allow", "ask", "deny") for rule in permissions.get(effect) or ()]
        found |= {key for rule in rules if isinstance(rule, dict) for key in rule}
    assert found == set(assent_yaml._RULE_KEYS)


def test_every_key_of_a_profile_is_shown_in_a_profile_and_no_other():
    made = [profile for block in BLOCKS["sandbox"] for profile in (block.get("profiles") or {}).values()]
    assert {key for profile in made for key in profile} == set(profiles_block._KEYS)
    assert {key for profile in made for key in profile.get("limits", ())} == set(profiles_block._LIMITS)


def test_every_setting_of_the_daemon_can_stand_in_a_file_under_its_name():
    assert set(BY_NAME) == {setting.name for setting in SETTINGS}
    page = (DOCS / "daemon.md").read_text()
    assert all(f"`{setting.flag}`" in page for setting in SETTINGS)


def test_every_word_of_a_command_of_ones_own_is_in_its_chapter():
    chapter = (DOCS / "policy.md").read_text().partition("## Commands of your own")[2].partition("\n## ")[0]
    shown = set(re.findall(r"`(\w+)(?:: \w+)?`", chapter))
    for record in (Entry, Clause, Examples):
        assert set(record.__struct_encode_fields__) <= shown
    for words in (Role, Runs, Style):
        assert set(get_args(words)) - {""} <= shown


def test_every_mode_is_in_the_table_of_modes_with_its_other_names():
    table = (DOCS / "concepts.md").read_text().partition("| mode | other names |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines()[2:]]
    assert [mode.strip(" `") for mode, _ in rows] == [mode.value for mode in Mode]
    others = {other: mode.strip(" `") for mode, names in rows for other in re.findall(r"`(\w+)`", names)}
    assert others == {name: mode.value for name, mode in MODE_ALIASES.items()}
