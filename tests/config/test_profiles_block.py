"""`profiles:` becomes sandbox profiles, or one error that names the line."""

import pytest

from assent.analysis.resources.paths import Place
from assent.config.assent_yaml import parse_assentfile
from assent.model import ConfigError, Facts, Layer, Limits, Network, Policy, ProfileSpec
from assent.policy.layers import merge
from assent.policy.sandbox_profiles import profile

EVERYTHING = """\
permissions:
  profile: build
profiles:
  build:
    extends: workspace-write
    read: [/usr, /opt/data/, .]
    write: [., ~/out, .git/config]
    masked: [private]
    network:
      hosts: [A.test, "b.test:8443"]
    environment: [CI]
    limits: {processes: 50, memory: 2GiB, file_size: 10M, cpu: 5m, wall: 90, output: 64k}
    ask: yes
    unix_sockets: yes
  quiet:
    extends: read-only
    network: off
  open: {network: full}
  none: {network: {hosts: []}}
"""


def parse(text, layer=Layer.USER):
    return parse_assentfile(text.encode(), "a.yaml", layer=layer, home="/home/u").policy


def test_every_key_arrives():
    policy = parse(EVERYTHING)
    assert policy.profile == "build"
    assert policy.profiles == (
        ProfileSpec(
            name="build",
            read=("/usr", "/opt/data", "."),
            write=(".", "/home/u/out", ".git/config"),
            masked=("private",),
            network=Network("hosts", ("a.test", "b.test:8443")),
            environment=("CI",),
            limits=Limits(50, 2 << 30, 10**7, 300, 90, 64_000),
            ask=True,
            unix_sockets=True,
        ),
        ProfileSpec(name="quiet", extends="read-only", network=Network("off")),
        ProfileSpec(name="open", network=Network("full")),
        ProfileSpec(name="none", network=Network("hosts", ())),
    )


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("profiles: [a]", 1, "Expected profiles to be an object."),
        ("profiles:\n  a:\n    wrte: [x]", 3, "Unknown configuration field 'profiles.a.wrte'."),
        ("profiles:\n  agent: {}", 2, 'Invalid profile name "agent".'),
        ("profiles:\n  A b: {}", 2, 'Invalid profile name "A b".'),
        ("profiles:\n  a: {extends: off}", 2, 'Invalid profiles.a.extends "off".'),
        ("profiles:\n  a:\n    write: [src, ../x]", 3, "profiles.a.write.1 is outside of the workspace."),
        ("profiles:\n  a: {write: ['*']}", 2, "Expected profiles.a.write.0 to be a path without wildcards."),
        ("profiles:\n  a: {read: [~other/x]}", 2, "Expected profiles.a.read.0 to be a path."),
        ("profiles:\n  a:\n    network: some", 3, 'Invalid profiles.a.network "some". Must be one of: off, full.'),
        ("profiles:\n  a:\n    network: {}", 3, "Expected profiles.a.network to be `off`, `full`, or an object"),
        ("profiles:\n  a:\n    network:\n      hosts:\n        - '*'", 5, 'Invalid profiles.a.network.hosts.0 "*"'),
        ("profiles:\n  a: {network: {hosts: [a/b]}}", 2, 'Invalid profiles.a.network.hosts.0 "a/b"'),
        ("profiles:\n  a: {network: {hosts: a.test}}", 2, "Expected profiles.a.network.hosts to be an array."),
        ("profiles:\n  a: {environment: [A=B]}", 2, 'Invalid profiles.a.environment.0 "A=B".'),
        ("profiles:\n  a: {limits: {wall: 0}}", 2, "Expected profiles.a.limits.wall to be a whole number above 0"),
        ("profiles:\n  a: {limits: {processes: 3k}}", 2, "Expected profiles.a.limits.processes to be a whole number"),
        ("profiles:\n  a: {limits: {memory: [1]}}", 2, "Expected profiles.a.limits.memory to be a whole number"),
        ("profiles:\n  a: {ask: maybe}", 2, "Expected profiles.a.ask to be true or false."),
        ("permissions: {profile: mine}", 1, 'Invalid permissions.profile "mine".'),
    ],
)
def test_what_can_not_be_meant_is_an_error_at_its_line(text, line, message):
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert (caught.value.file, caught.value.line) == ("a.yaml", line)
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize("layer", [Layer.PROJECT, Layer.RUN])
def test_a_repository_defines_no_profile(layer):
    with pytest.raises(ConfigError, match="cannot define sandbox profiles"):
        parse("profiles: {a: {network: full}}", layer)


PLACE = Place(Facts(home="/home/u", assent_paths=("/own",), sandbox_hosts=("index.test",)), "/ws", ("/ws",))


def test_a_profile_changes_what_it_names_and_keeps_the_rest():
    specs = merge([parse(EVERYTHING)]).profiles.specs
    build, quiet, reached = (profile(n, PLACE, specs) for n in ("build", "quiet", "open"))
    assert (build.name, build.mode) == ("build", "workspace-write")
    assert build.read_roots == ("/usr", "/opt/data", "/ws", "/home/u/out", "/ws/.git/config")
    assert build.write_roots == ("/ws", "/home/u/out", "/ws/.git/config")
    assert build.masked == ("/own", "/ws/private")
    assert "/ws/.git/hooks" in build.protected
    assert "/ws/.git/config" not in build.protected
    assert (build.environment, build.ask, build.process_limits.processes) == (("CI",), True, 50)
    assert (quiet.mode, quiet.write_roots, quiet.network.mode) == ("read-only", (), "off")
    assert quiet.process_limits.processes == 4096
    assert (build.unix_sockets, quiet.unix_sockets) == (True, False)
    assert reached.network.mode == "full"
    assert reached.read_roots == ("/",)


def test_absent_and_empty_hosts_differ():
    specs = merge([parse(EVERYTHING + "  plain: {}\n")]).profiles.specs
    assert profile("plain", PLACE, specs).network.hosts == ("index.test",)
    assert profile("none", PLACE, specs).network == Network("hosts", ())


def test_the_organisation_s_profile_wins_over_the_user_s_of_that_name():
    mine = Policy(profiles=(ProfileSpec(name="a", network=Network("full")),))
    theirs = Policy(layer=Layer.MANAGED, profiles=(ProfileSpec(name="a", network=Network("off")),))
    for layers in ([mine, theirs], [theirs, mine]):
        assert profile("a", PLACE, merge(layers).profiles.specs).network == Network("off")


def test_a_profile_without_a_workspace_counts_from_the_root_of_the_disk_and_is_no_surprise():
    spec = ProfileSpec(name="a", write=("/srv/x",), read=("/srv",))
    found = profile("a", Place(Facts()), {"a": spec})
    assert (found.write_roots, found.read_roots) == (("/srv/x",), ("/srv", "/srv/x"))
