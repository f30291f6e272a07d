"""No secret goes inside by way of the environment, or of the settings that are copied there."""

import tomllib

import pytest

from assent.sandbox.environment.variables import pass_on, places_of, without_credentials
from assent.sandbox.network.package_indexes import npm_registry, pip_variables
from assent.sandbox.persistent.package_caches import clean_settings

SECRET = "hunter2secret"

HELD = {
    "PIP_INDEX_URL": f"https://user:{SECRET}@pip.example.com/simple",
    "PIP_EXTRA_INDEX_URL": f"https://a.example.com/ https://{SECRET}@b.example.com/",
    "PIP_FIND_LINKS": f"https://user:p@{SECRET}@links.example.com/",
    "PIP_PROXY": f"user:{SECRET}@proxy.example.com:3128",
    "PIP_CLIENT_CERT": f"/home/me/{SECRET}",
    "PIP_NEW_OPTION": SECRET,
    "UV_INDEX": f"own=https://user:{SECRET}@uv.example.com/simple",
    "UV_DEFAULT_INDEX": f"https://user:{SECRET}@uv.example.com/simple",
    "UV_INDEX_OWN_USERNAME": SECRET,
    "UV_INDEX_OWN_PASSWORD": SECRET,
    "UV_HTTP_BASIC": f"user:{SECRET}",
    "UV_HTTP_BASIC_AUTH": f"user:{SECRET}",
    "UV_PUBLISH_USERNAME": SECRET,
    "UV_PUBLISH_URL": f"https://{SECRET}@up.example.com/",
    "npm_config_registry": f"https://user:{SECRET}@npm.example.com/",
    "NPM_CONFIG_REGISTRY": f"https://user:{SECRET}@npm.example.com/?x",
    "npm_config_@own:registry": f"https://user:{SECRET}@npm.example.com/",
    "npm_config_//npm.example.com/:_authToken": SECRET,
    "npm_config_//npm.example.com/:_password": SECRET,
    "NPM_CONFIG_//npm.example.com/:_AUTHTOKEN": SECRET,
    "npm_config__authToken": SECRET,
    "npm_config__auth": SECRET,
    "npm_config_otp": SECRET,
    "npm_config_key": SECRET,
    "npm_config_proxy": f"http://user:{SECRET}@proxy.example.com:3128",
    "npm_config_https_proxy": f"http://user:{SECRET}@proxy.example.com:3128",
    "npm_config_argv": SECRET,
    "CARGO_REGISTRY_TOKEN": SECRET,
    "CARGO_REGISTRIES_OWN_TOKEN": SECRET,
    "CARGO_REGISTRIES_OWN_INDEX": f"sparse+https://user:{SECRET}@rs.example.com/",
    "CARGO_HTTP_PROXY": f"user:{SECRET}@proxy.example.com",
    "YARN_NPM_AUTH_IDENT": f"user:{SECRET}",
    "YARN_NPM_REGISTRY_SERVER": f"https://user:{SECRET}@npm.example.com/",
    "YARN_HTTP_PROXY": f"http://user:{SECRET}@proxy.example.com",
    "GOPROXY": f"https://user:{SECRET}@go.example.com,direct",
    "GOFLAGS": f"-x=https://u:{SECRET}@go.example.com",
    "HTTP_PROXY": f"http://user:{SECRET}@proxy.example.com",
    "https_proxy": f"http://user:{SECRET}@proxy.example.com",
    "ALL_PROXY": f"socks5://user:{SECRET}@proxy.example.com",
    "LC_API_KEY": SECRET,
    "LC_MYTHING": SECRET,
    "NODE_OPTIONS": f"--require=https://u:{SECRET}@x.example.com/",
    "MAKEFLAGS": f"-j4 -- DB_PASSWORD={SECRET}",
    "CFLAGS": f"-O2 -DAPI_KEY={SECRET}",
    "LDFLAGS": f"-X=main.token={SECRET}",
    "RUSTFLAGS": f'--cfg token="{SECRET}"',
    "EDITOR": f"edit --password {SECRET}",
    "CARGO_ALIAS_up": f"publish --token '{SECRET}'",
    "npm_config_dist_url": f"https://npm.example.com/?_authToken={SECRET}",
    "PIP_CONSTRAINT": f"https://pip.example.com/c.txt?sv=1&sig={SECRET}",
    "UV_FIND_LINKS": f"https://s3.example.com/x?X-Amz-Signature={SECRET}",
    "UV_INDEX_URL": f"https://uv.example.com/ghp_{SECRET}aaaaaaaaaaaa/simple",
    "UV_PYTHON_INSTALL_MIRROR": f"https://uv.example.com/x;token={SECRET}",
    "UV_EXTRA_INDEX_URL": f"https://user%3A{SECRET}%40uv.example.com/",
    "UV_PYPY_INSTALL_MIRROR": f"https://user:{SECRET}\uff20uv.example.com/",
}


@pytest.mark.parametrize("name", HELD)
def test_no_variable_carries_a_secret_inside(name):
    for found in (pass_on({name: HELD[name]}, ()), places_of({name: HELD[name]}, "/home/me/.assent")):
        assert SECRET not in repr(found)


@pytest.mark.parametrize("name", ["PIP_INDEX_URL", "npm_config_registry", "UV_DEFAULT_INDEX", "GOPROXY"])
def test_what_is_left_of_an_address_is_its_place(name):
    (value,) = pass_on({name: HELD[name]}, ()).values()
    assert "https://" in value
    assert ".example.com" in value


SAME = {
    "PIP_INDEX_URL": "https://pip.example.com:8443/simple/",
    "PIP_FIND_LINKS": "/srv/wheels",
    "PIP_NO_INDEX": "1",
    "UV_OFFLINE": "1",
    "UV_PYTHON_PREFERENCE": "only-system",
    "npm_config_registry": "https://npm.example.com/@scope/x",
    "npm_config_@own:registry": "https://npm.example.com/",
    "NPM_CONFIG_LOGLEVEL": "error",
    "npm_config_ignore_scripts": "true",
    "npm_config_user_agent": "npm/10 node/v22 linux x64",
    "npm_config_electron_mirror": "https://mirror.example.com/",
    "CARGO_BUILD_JOBS": "4",
    "CARGO_TERM_COLOR": "always",
    "CARGO_PROFILE_RELEASE_LTO": "true",
    "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER": "clang",
    "CARGO_REGISTRIES_OWN_INDEX": "sparse+https://rs.example.com/",
    "YARN_NODE_LINKER": "node-modules",
    "YARN_ENABLE_TELEMETRY": "0",
    "LC_ALL": "C.UTF-8",
    "GIT_AUTHOR_EMAIL": "me@example.com",
    "CFLAGS": "-O2 -DX=a:b -DHAVE_TOKEN=1",
    "MAKEFLAGS": " -j4 --jobserver-auth=fifo:/tmp/GMfifo12",
    "NODE_OPTIONS": "--max-old-space-size=4096 --require /srv/token/x.js",
    "PYTHONPATH": "/srv/token:/srv/secret=x/lib",
    "PYTHONWARNINGS": "error",
    "UV_INDEX_URL": "https://uv.example.com/%2Fsimple?x=1",
    "PATH": "/usr/bin:/home/me@work/bin",
    "GOPROXY": "https://go.example.com,direct",
}


@pytest.mark.parametrize("name", SAME)
def test_what_is_no_secret_goes_inside_as_it_is(name):
    assert pass_on({name: SAME[name]}, ()) == {name: SAME[name]}


def test_a_variable_that_the_profile_names_goes_inside_as_it_is():
    for name in ("PIP_PROXY", "npm_config_//npm.example.com/:_authToken", "PIP_INDEX_URL"):
        assert pass_on({name: HELD[name]}, (name,)) == {name: HELD[name]}


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ("https://u:p@h/x", "https://h/x"),
        ("https://u:p@q@h/x", "https://h/x"),
        ("HTTPS://u@h", "HTTPS://h"),
        ("git+ssh://git@h/x", "git+ssh://h/x"),
        ("https://h/a@b", "https://h/a@b"),
        ("https://h:8080/a@b", "https://h:8080/a@b"),
        ("https://[::1]:80/", "https://[::1]:80/"),
        ("https://u:p/w@h/x", None),
        ("https://u:p?w@h/x", None),
        ("https://u:p#w@h/x", None),
        ("https://u:p\\w@h/x", None),
        ("https://h/x?token=abc", None),
        ("https://h/x?a=1&api_key=abc", None),
        ("https://h/x#access_token=abc", None),
        ("https:/u:p@h/x", None),
        ("https:\\\\u:p@h/x", None),
        ("https:///u:p@h/x", None),
        ("https://h/x?a=1", "https://h/x?a=1"),
        ("u:p@h:80", "h:80"),
        ("a,u:p@h:80", "a,h:80"),
        ("//u:p@h/x", "//h/x"),
        ("name=u:p@h", "name=h"),
    ],
)
def test_credentials_are_taken_out_of_a_value_or_it_is_dropped(value, left):
    assert without_credentials(value) == left


def test_settings_of_npm_and_pip_are_handed_in_without_credentials(tmp_path):
    (tmp_path / ".npmrc").write_text(f"registry=https://user:{SECRET}@npm.example.com/\n")
    assert npm_registry({}, str(tmp_path)) == "https://npm.example.com/"
    (tmp_path / ".npmrc").write_text(f"registry=https://user:{SECRET}/x@npm.example.com/\n")
    assert npm_registry({}, str(tmp_path)) is None
    (tmp_path / ".pip").mkdir()
    (tmp_path / ".pip/pip.conf").write_text(f"[global]\nindex-url = https://user:{SECRET}@pip.example.com/simple\n")
    assert SECRET not in repr(pip_variables({}, str(tmp_path)))


CARGO = f"""
[registries.own]
index = "sparse+https://user:{SECRET}@rs.example.com/"
token = "{SECRET}"
[registries]
other = {{ index = "https://rs.example.com/", secret-key = "{SECRET}", credential-provider = ["x", "{SECRET}"] }}
[registry]
token = "{SECRET}"
[http]
proxy = "user:{SECRET}@proxy.example.com:3128"
[env]
MY_TOKEN = "{SECRET}"
OTHER = {{ value = "https://u:{SECRET}@x.example.com", force = true }}
[build]
rustflags = ["-C", "link-arg=-s"]
jobs = 4
[profile.release]
lto = true
[target.'cfg(unix)']
linker = "c\\"lang"
"""


def test_cargo_s_settings_are_handed_in_without_credentials():
    found = clean_settings(CARGO.encode())
    assert SECRET.encode() not in found
    settings = tomllib.loads(found.decode())
    assert settings["build"] == {"rustflags": ["-C", "link-arg=-s"], "jobs": 4}
    assert settings["profile"] == {"release": {"lto": True}}
    assert settings["target"] == {"cfg(unix)": {"linker": 'c"lang'}}
    assert settings["registries"]["own"] == {"index": "sparse+https://rs.example.com/"}
    assert clean_settings(b"not = [toml") == b""
    assert clean_settings(b"\xff") == b""


def test_inside_nothing_of_it_is_seen(world):
    world.write(world.home / ".npmrc", f"registry=https://user:{SECRET}@npm.example.com/\n")
    world.write(world.home / ".cargo/config.toml", CARGO)
    done = world.sh("env; cat $CARGO_HOME/config.toml ~/.npmrc ~/.cargo/config.toml", environ=HELD)
    assert "PATH=" in done.stdout
    assert SECRET not in done.stdout
