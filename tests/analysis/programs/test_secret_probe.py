"""An expression that names are searched with is after a secret if it finds some, and nothing that is everywhere."""

import pytest

from assent.analysis.programs.secret_probe import fitting


@pytest.mark.parametrize(
    "expression", ["nv$", r"^\.e", r"\.pem$", "id_", "cred", r"\.\(env\|pem\)", r"(key|pem)$", "HISTORY"]
)
def test_what_finds_secrets_alone_is_after_them(expression):
    assert fitting(expression)


@pytest.mark.parametrize("expression", [".", "", "e", "json", r"\.ya?ml$", "config", "test", r"\.php$", "(", "a" * 300])
def test_what_finds_ordinary_names_or_nothing_is_not(expression):
    assert fitting(expression) == ()
