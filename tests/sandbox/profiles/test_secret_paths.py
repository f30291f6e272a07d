"""What a sandbox hides is found by its name, however that is written."""

import os

import pytest

from assent.sandbox.profiles.secret_paths import find_secrets

SECRET = "the-secret-text"
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


IN_WORKSPACE = [
    ".env",
    "build/.env",
    "dist/.env.production",
    "target/.env",
    "build/out/server/.env",
    "packages/a/b/c/.env.local",
    "node_modules/.env",
    ".pypirc",
    "_netrc",
    "sub/.netrc",
]
AT_HOME = [
    ".pip/pip.conf",
    ".config/pip/pip.conf",
    ".pypirc",
    ".netrc",
    "_netrc",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".config/containers/auth.json",
    ".bundle/config",
    ".local/share/keyrings/x",
    ".local/share/uv/credentials/x",
]


@pytest.fixture(scope="module")
def hiding():
    from driver import LAUNCHERS, World

    made = World(LAUNCHERS[0])
    for name in IN_WORKSPACE:
        made.write(name, SECRET)
    for name in AT_HOME:
        made.write(made.home / name, SECRET)
    yield made
    made.remove()


@pytest.mark.parametrize("name", IN_WORKSPACE)
def test_a_secret_in_a_workspace_is_not_read_inside(hiding, name):
    done = hiding.sh(f"cat '{name}'")
    assert "Permission denied" in done.stderr
    assert SECRET not in done.stdout


@pytest.mark.parametrize("name", AT_HOME)
def test_a_secret_at_home_is_not_read_inside(hiding, name):
    done = hiding.sh(f"cat ~/'{name}'")
    assert "Permission denied" in done.stderr
    assert SECRET not in done.stdout


@pytest.mark.parametrize("name", [".env", "build/.env", ".env.local", "sub/.netrc"])
@pytest.mark.parametrize("place", ["settings/dev", "settings", "outside", "above"])
def test_what_a_secret_s_name_leads_to_is_not_read_by_any_name(own_world, name, place):
    real = {
        "settings/dev": own_world.workspace / "settings/dev",
        "settings": own_world.workspace / "settings",
        "outside": own_world.outside / "dev",
        "above": own_world.base / "dev",
    }[place]
    own_world.write(real, SECRET)
    link = own_world.workspace / name
    link.parent.mkdir(exist_ok=True)
    middle = own_world.workspace / "middle"
    middle.symlink_to(real)
    link.symlink_to(os.path.relpath(middle, link.parent))
    done = own_world.sh(f"cat {name}; cat middle; cat {real}")
    assert SECRET not in done.stdout
    assert done.stderr.count("Permission denied") == 3


@pytest.mark.parametrize("place", ["workspace", "home", "outside"])
def test_a_hidden_file_is_not_read_by_a_second_name_in_the_workspace(own_world, place):
    (own_world.workspace / "sub").mkdir()
    names = {
        "workspace": own_world.workspace / ".env",
        "home": own_world.home / ".netrc",
        "outside": own_world.outside / "kube",
    }
    secret = own_world.write(names[place], SECRET)
    os.link(secret, own_world.workspace / "sub/settings.txt")
    os.link(secret, own_world.workspace / "notes.txt")
    environ = {"KUBECONFIG": str(names["outside"])}
    done = own_world.sh(f"cat {secret} sub/settings.txt notes.txt; mv sub other; cat other/*", environ=environ)
    assert SECRET not in done.stdout
    assert done.stderr.count("Permission denied") == 3


@pytest.mark.parametrize("target", ["/usr/bin/env", "/bin", "/usr", "..", ".", "nowhere", ".env", "/proc/self/environ"])
def test_a_link_by_a_secret_s_name_does_not_hide_what_every_command_needs(own_world, target):
    (own_world.workspace / ".env").symlink_to(target)
    own_world.write("file", "text")
    done = own_world.sh("cat file; /usr/bin/env true && echo works")
    assert done.stdout == "textworks\n"


@pytest.mark.parametrize(
    ("variable", "name", "below"),
    [
        ("KUBECONFIG", "kube", ""),
        ("NETRC", "net", ""),
        ("PIP_CONFIG_FILE", "pip", ""),
        ("NPM_CONFIG_USERCONFIG", "npm", ""),
        ("npm_config_userconfig", "npm", ""),
        ("AWS_SHARED_CREDENTIALS_FILE", "aws", ""),
        ("GOOGLE_APPLICATION_CREDENTIALS", "google", ""),
        ("XDG_CONFIG_HOME", "config", "gh/hosts.yml"),
        ("XDG_CONFIG_HOME", "config", "pip/pip.conf"),
        ("CARGO_HOME", "cargo", "credentials.toml"),
        ("DOCKER_CONFIG", "docker", "config.json"),
        ("GNUPGHOME", "gnupg", "private-keys-v1.d/x"),
    ],
)
def test_a_secret_that_a_variable_leads_to_is_not_read_inside(own_world, variable, name, below):
    place = own_world.outside / name
    file = own_world.write(place / below if below else place, SECRET)
    done = own_world.sh(f"cat {file}", environ={variable: str(place)})
    assert "Permission denied" in done.stderr
    assert SECRET not in done.stdout
