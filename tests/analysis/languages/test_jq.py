"""Programs of jq and yq: printing is fine, looking elsewhere is not."""

from __future__ import annotations

import pytest

from assent.analysis.languages.jq import read_jq


@pytest.mark.parametrize(
    "program",
    [
        ".",
        ".a.b[0]",
        '.[] | select(.name == "env") | .value',
        ".env",
        ".env.load",
        ".spec.containers[].env[]",
        "[.[] | {name, load: .x}][0]".replace("load", "n"),
        "map(.a) | add",
        'to_entries | map("\\(.key)=\\(.value)") | .[]',
        "reduce inputs as $x (0; . + $x)",
        "with_entries(.value |= tostring)",
        ".a # a comment",
        "$env | .x",
        "",
    ],
)
def test_a_program_that_only_prints(program: str) -> None:
    assert read_jq(program) is None


@pytest.mark.parametrize(
    "program",
    [
        "env",
        "env.API_KEY",
        "$ENV.API_KEY",
        "$ ENV.API_KEY",
        "$ # why\n ENV",
        "$\n__prog_args",
        '$ENV["A"]',
        '"\\(env.A)"',
        ". | env",
        "..env",
        "{a: env}",
        "input_filename",
        'import "a" as b; .',
        'include "a"; .',
        'load("x")',
        '.a = load_str("x")',
        "strenv(A)",
        ".a | envsubst",
        "eval(.a)",
        'system("id")',
        '# "\nenv # "',
        '"a" " env',
    ],
)
def test_a_program_that_looks_elsewhere(program: str) -> None:
    assert read_jq(program)
