"""One table says which names stand for secrets."""

from __future__ import annotations

import pytest

from assent.catalog.secret_names import is_secret_name


@pytest.mark.parametrize("name", ["MY_FIRST_TOKEN", "dbPassword", "--api-key", "X_DSN", "ourJwt"])
def test_a_name_of_a_secret_is_one(name):
    assert is_secret_name.__wrapped__(name)


@pytest.mark.parametrize("name", ["--password-stdin", "max_tokens_limit", "COLOUR", "token_type"])
def test_what_only_tells_about_a_secret_is_none(name):
    assert not is_secret_name.__wrapped__(name)
