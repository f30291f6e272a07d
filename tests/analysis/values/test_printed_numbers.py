"""Words made of constants, numbers and times: an example tells what they are like."""

from __future__ import annotations

import pytest

from shell_lines import read

#: line, an example of the last word of its last command; nothing if there is none
LIKE = [
    ("a $(wc -l < f)", "7"),
    ("n=$(wc -l < f); a ${n}p", "7p"),
    ("n=$(wc -l < f); a $((n-5)),${n}p", "7,7p"),
    ('a "x$(wc -l < f)y$(nproc)"', "x7y7"),
    ('a "$(grep -n x f.py | cut -d: -f1)"', "7"),
    ("a $(grep -n x f.py | cut -d: -f1)", ""),
    ("a $(grep -n x f.py | head -1 | cut -d: -f1)", "7"),
    ("a $(grep -n x f.py | cut -d: -f1 | cut -d: -f1)", ""),
    ("a $(grep -rn x | head -1 | cut -d: -f1)", ""),
    ("a $(head -1 f.py | cut -d: -f1)", ""),
    ("a $(du -sk src | cut -f1)", "7"),
    ("a $(du -sk src | cut -d' ' -f1)", ""),
    ("a $(wc -l f | cut -d' ' -f1)", "7"),
    ("a $(wc -l f | cut -f1)", ""),
    ("a $(grep -n x f.py |& head -1 | cut -d: -f1)", ""),
    ("a $(wc -l 2>/dev/stdout)", ""),
    ("a $({ wc -l; } 2>&1)", ""),
    ("a $(exec 2>&1; wc -l)", ""),
    ("a $(seq 3)", ""),
    ('a "$(seq 3)"', "7"),
    ("a $(git log -1 --format=%ct)", "7"),
    ("a $(git log -1 --format=%s)", ""),
    ('a "$(date -d "$END" +%s)"', "7"),
    ("a $(date -d $END +%s)", ""),
    ('a "$(jq length x.json)"', "7"),
    ("a $(jq -r .name x.json)", ""),
    ("a $(grep -n x f.py | cut -d: -f1 | head -1)", "7"),
    ("a $(grep -n x f.py g.py | cut -d: -f1)", ""),
    ("a $(grep -rn x | cut -d: -f1)", ""),
    ("a $(wc -l f.py | awk '{print $1}')", "7"),
    ("a $(ls | awk '{print $1}')", ""),
    ("a $(cat f | sort -n | tail -1)", ""),
    ("a $(seq 3 | tail -1)", "7"),
    ("a $(git rev-list --count HEAD)", "7"),
    ("a $(date +%Y-%m-%d)", "2024-01-01"),
    ("a \"$(date -d '1 hour ago' +%s)000\"", "1700000000000"),
    ("a $(date -u -v-1d +%FT%TZ)", "2024-01-01T00:00:00Z"),
    ("a $(date +%B)", ""),
    ("a $(date -f x +%F)", ""),
    ("a $(date)", ""),
    ('a $(date "+$X")', ""),
    ("date() { cat x; }; a $(date +%F)", ""),
    ("a $(TZ=x date +%F)", ""),
    ("a $(ls)", ""),
    ("a ${X}p", ""),
    ('a "$(wc -l < f)$X"', ""),
    ("a $(wc -l < f)*", ""),
    ("a plain", ""),
    ("a $(cat x | cat | cat | cat | cat | cat | cat | cat | cat)", ""),
    ("a $(wc -l < f | sort | sort | sort | sort | sort | sort | sort | sort | sort)", ""),
]


@pytest.mark.parametrize(("line", "like"), LIKE)
def test_a_word_of_numbers_and_times_has_an_example(line, like):
    assert read(line).commands[-1].words[-1].like == like


def test_a_value_keeps_its_example_where_it_is_assigned_and_put_together():
    found = read('d=$(date +%F); e="since $d"; a "$e"').commands[-1].words[-1]
    assert found.like == "since 2024-01-01"
    assert not found.splits
