"""What a sandbox hides is found by its name, however that is written."""

import pytest

from assent.sandbox.secrets import find_secrets

HIDDEN = [
    ".local/share/assent/token",
    ".aws/credentials",
    ".AWS/credentials",
    "Backup.PEM",
    "id_RSA.old",
    ".Env.local",
    ".config/Bitwarden CLI/x",
]
SHOWN = ["key.pem.PUB", ".Env.example", "notes.txt", "envelope", "pem", ".config/editor"]


@pytest.fixture
def home(tmp_path):
    for name in (*HIDDEN, *SHOWN):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    return tmp_path


@pytest.mark.parametrize("name", HIDDEN)
def test_a_secret_at_home_is_hidden(home, name):
    found = set(find_secrets((str(home),), (), {}))
    assert any(str(place) in found for place in (home / name, *(home / name).parents) if home in place.parents)


@pytest.mark.parametrize("name", SHOWN)
def test_and_what_is_none_is_seen(home, name):
    assert str(home / name) not in set(find_secrets((str(home),), (), {}))
