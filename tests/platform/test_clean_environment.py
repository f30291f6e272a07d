"""What an agent is started with: nothing that turns programs, nothing that leads into the project."""

from __future__ import annotations

from assent.platform.clean_environment import scrub


def test_what_turns_programs_is_left_out_and_the_rest_stays(tmp_path):
    project = tmp_path / "project"
    (project / "bin").mkdir(parents=True)
    given = {
        "LANG": "C.UTF-8",
        "ANTHROPIC_API_KEY": "k",
        "HOME": "/home/ann",
        "PATH": f"/usr/bin:{project}/bin::node_modules/.bin:/bin",
        "EDITOR": "vim",
        "VISUAL": "./edit",
        "XDG_CONFIG_HOME": f"{project}/config",
        "XDG_DATA_HOME": "/home/ann/data",
        "npm_config_registry": "https://npm.example/",
        "KUBECONFIG": "$PWD/kube",
        "BASH_ENV": "/home/ann/x",
        "LD_PRELOAD": "/usr/lib/x.so",
        "BASH_FUNC_exec%%": "() { :; }",
        "PYTHONPATH": "/opt/lib",
        "NODE_OPTIONS": "--require /opt/x.js",
        "ASSENT_URL": "http://127.0.0.1:1",
    }
    found = scrub(given, str(project))
    assert found == {
        **{name: given[name] for name in ("LANG", "ANTHROPIC_API_KEY", "HOME", "EDITOR", "XDG_DATA_HOME")},
        "npm_config_registry": given["npm_config_registry"],
        "PATH": "/usr/bin:/bin",
    }


def test_what_is_asked_for_stays_as_it_is(tmp_path):
    given = {"PATH": f"{tmp_path}/bin", "PYTHONPATH": "src"}
    assert scrub(given, str(tmp_path), ("PATH", "PYTHONPATH")) == given
