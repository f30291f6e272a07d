"""A secret that a call bears, in any of the shapes that people write one in, is in no byte of log or journal."""

from __future__ import annotations

import asyncio
import io
import json
import shlex
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assent import Engine, Session, ToolCall
from assent.audit.entry import make_entry
from assent.audit.masking import Mask
from assent.audit.search import export
from assent.audit.snapshot import open_snapshot
from assent.catalog.secret_names import is_secret_name
from assent.decisions.audit_events import evaluated, happened
from assent.decisions.call_summary import outline, summarise
from assent.decisions.decision_entries import secrets_of
from assent.server.operator_log import Journal
from keeping import ANN, NO, Node

ENGINE = Engine()
MASK = Mask(b"s" * 32)
SESSION = Session(id="s", user="ann", agent="coder", workspace=("/code",))
NAMES = (
    *("DB_PASS", "JWT", "DATABASE_DSN", "API_KEY", "GITHUB_TOKEN", "PGPASSWORD", "CLIENT_SECRET", "SMTP_CREDS"),
    *("AWS_SECRET_ACCESS_KEY", "NPM_AUTH", "SLACK_WEBHOOK", "GITLAB_PAT", "AZURE_STORAGE_CONNECTION_STRING"),
)
OPTIONS = (
    "--token",
    "--password",
    "--api-key",
    "--pass",
    "--auth-token",
    "--jwt",
    "--client-secret",
    "--dsn",
    "-token",
)
FIELDS = ("token", "password", "apiKey", "dbPass", "client_secret", "jwt", "dsn", "auth", "credentials", "accessKey")


def ansi(secret):
    return "$'" + "".join(f"\\x{ord(char):02x}" for char in secret) + "'"


SHELL = {
    "assignment": lambda s, n, o, f: f"{n}={shlex.quote(s)} ./deploy",
    "export in double quotes": lambda s, n, o, f: f'export {n}="{s}" && ./deploy',
    "export in single quotes": lambda s, n, o, f: f"export {n}='{s}'; ./deploy",
    "ANSI-C quotes": lambda s, n, o, f: f"{n}={ansi(s)} ./deploy",
    "pieces": lambda s, n, o, f: f"{n}={s[:3]}'{s[3:6]}'\"{s[6:]}\" ./deploy",
    "env": lambda s, n, o, f: f"env {n}={s} make",
    "docker -e": lambda s, n, o, f: f"docker run -e {n}='{s}' image",
    "option": lambda s, n, o, f: f"tool {o} {s} deploy",
    "option in quotes": lambda s, n, o, f: f"tool {o} '{s}' deploy",
    "option in ANSI-C quotes": lambda s, n, o, f: f"tool {o} {ansi(s)} deploy",
    "option with =": lambda s, n, o, f: f"tool {o}={shlex.quote(s)} deploy",
    "userinfo": lambda s, n, o, f: f"git clone https://ann:{s}@example.com/x.git",
    "userinfo alone": lambda s, n, o, f: f"pip install --index-url https://{s}@example.com/simple x",
    "JSON": lambda s, n, o, f: f"curl -d '{json.dumps({f: s})}' https://example.com",
    "JSON in double quotes": lambda s, n, o, f: f'curl -d "{{\\"{f}\\": \\"{s}\\"}}" https://example.com',
    "header": lambda s, n, o, f: f"curl -H 'Authorization: Bearer {s}' https://example.com",
    "another header": lambda s, n, o, f: f'curl -H "X-Api-Key: {s}" https://example.com',
    "cookie": lambda s, n, o, f: f"curl -H 'Cookie: sid={s}' https://example.com",
    "user and password": lambda s, n, o, f: f"curl -u ann:{s} https://example.com",
    "inner shell": lambda s, n, o, f: f"bash -c \"{n}='{s}' ./deploy\"",
    "here-document": lambda s, n, o, f: f"cat <<EOF > .env\n{n}={s}\nEOF",
    "destructive": lambda s, n, o, f: f"rm -rf / && tool {o} {s}",
    "mysql": lambda s, n, o, f: f"mysql -h db -p{s} shop",
    "sshpass": lambda s, n, o, f: f"sshpass -p {s} ssh host ls",
    "query": lambda s, n, o, f: f"curl 'https://example.com/?api_key={s}&x=1'",
    "pass:": lambda s, n, o, f: f"openssl rsa -passin pass:{s} -in k",
}
KEYS = ("RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK", "PRIVATE KEY")
SECRETS = st.text(string.ascii_letters + string.digits + "-_.+~", min_size=10, max_size=30).map(
    lambda text: f"Zq{text}9x"
)
STRUCTURED = ("mcp__vault__put", "Write", "Edit", "deploy", "WebFetch", "http_request")


def inputs(secret, field):
    """Give inputs of tools of any kind that bear a secret under a name that says so."""
    yield {field: secret, "path": "/code/a.txt", "file_path": "/code/a.txt", "content": "x", "url": "https://e.example"}
    yield {"config": {"deep": [{field: secret}]}, "target": f"/srv/{secret}/x"}
    yield {"body": json.dumps({field: secret}), "note": f"uses {secret} twice: {secret}"}
    yield {"args": [f"--{field}", secret], "file_path": f"/code/{secret}"}
    yield {"url": f"https://ann:{secret}@example.com/x", "file_path": "/code/x"}
    yield {"env": {"DB_PASS": secret}, "prompt": f"log in with {secret}"}
    yield {"body": json.dumps(json.dumps({field: secret})), "n": 1}


def in_record(secret, *events, about=None):
    columns = [column for event in events for column in make_entry(event, MASK, about).columns]
    shown = b"\n".join(c if isinstance(c, bytes) else str(c).encode() for c in columns)
    return secret.encode() in shown or ansi(secret).encode() in shown or ansi(secret)[2:-1].encode() in shown


@pytest.mark.parametrize("shape", SHELL)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(secret=SECRETS, name=st.sampled_from(NAMES), option=st.sampled_from(OPTIONS), field=st.sampled_from(FIELDS))
def test_no_shape_of_a_secret_in_a_line_is_in_its_records(shape, secret, name, option, field):
    command = SHELL[shape](secret, name, option, field)
    call = ToolCall(tool="Bash", input={"command": command}, cwd="/code")
    decision = ENGINE.decide(call)
    summary = summarise(call, decision.reading)
    events = [
        evaluated(call, SESSION, decision, summary),
        happened("tool.started", call, SESSION, {"args": outline(call.input)}),
        happened("process.output", call, SESSION, {"summary": f"+ {command}", "stream": "stderr"}),
    ]
    assert not in_record(secret, *events), command


@pytest.mark.parametrize("tool", STRUCTURED)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(secret=SECRETS, field=st.sampled_from(FIELDS))
def test_no_field_of_a_tool_s_input_that_is_called_a_secret_is_in_its_records(tool, secret, field):
    for given_ in inputs(secret, field):
        call = ToolCall(tool=tool, input=given_, cwd="/code")
        decision = ENGINE.decide(call)
        event = evaluated(call, SESSION, decision, summarise(call, decision.reading))
        assert not in_record(secret, event, about=secrets_of(call)), given_


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("whole", [True, False])
def test_no_private_key_is_in_a_record_whole_or_cut(kind, whole):
    body = "\n".join("MIIEpAIBAAKCAQEA" + letter * 40 for letter in "abcd")
    text = f"-----BEGIN {kind}-----\n{body}\n" + (f"-----END {kind}-----" if whole else "")
    for command in (f"echo '{text}' > k", f"cat > k <<EOF\n{text}\nEOF", f"KEY=$'{text.encode().decode()}' x"):
        call = ToolCall(tool="Bash", input={"command": command}, cwd="/code")
        event = evaluated(call, SESSION, ENGINE.decide(call), command)
        assert not in_record("MIIEpAIBAAKCAQEA", event)


def test_what_a_host_calls_a_secret_is_masked_in_the_whole_record():
    call = ToolCall(
        tool="deploy", input={"pin": "Zq81726354x", "to": "/srv/Zq81726354x"}, cwd="/code", secrets=("pin",)
    )
    event = evaluated(call, SESSION, ENGINE.decide(call), "deploy /srv/Zq81726354x")
    assert not in_record("Zq81726354x", event, about=secrets_of(call))


def test_a_summary_that_was_cut_in_a_secret_does_not_show_its_beginning():
    secret = "Zq-correct-horse-battery-staple-9x"
    for length in range(1900, 2010, 7):
        command = f"tool {'a' * length} --token '{secret}'"
        call = ToolCall(tool="Bash", input={"command": command}, cwd="/code")
        decision = ENGINE.decide(call)
        shown = make_entry(evaluated(call, SESSION, decision, summarise(call, decision.reading)), MASK).columns
        assert "Zq-corr" not in str(shown)


@pytest.mark.parametrize("value", ["allow", "deny", "coder", "ann", "Bash", "permission.evaluated", "safe"])
def test_a_secret_that_is_spelt_like_the_record_s_own_words_hides_none_of_them(value):
    """Else an agent could have itself, or what was decided, left out of every search."""
    call = ToolCall(tool="Bash", input={"command": f"PASSWORD={value} ls"}, cwd="/code")
    decision = ENGINE.decide(call)
    event = evaluated(call, SESSION, decision, f"PASSWORD={value} ls")
    columns = make_entry(event, MASK).columns
    assert columns[:5] == ("permission.evaluated", "s", "ann", "coder", "Bash")
    body = json.loads(columns[-1])
    assert body["type"] == "permission.evaluated"
    assert body["payload"]["agent"] == "coder"
    assert body["permissionDecision"]["verdict"] == decision.verdict.value


def test_nothing_of_it_is_in_the_store_s_log_in_an_export_or_in_what_a_question_leaves(tmp_path):
    secret = "Zq7-planted_secret.9x"
    lines = [shape(secret, "DB_PASS", "--token", "apiKey") for shape in SHELL.values()]
    calls = [
        ToolCall(tool="Bash", input={"command": command}, cwd="/code", call_id=f"c{i}")
        for i, command in enumerate(lines)
    ]
    calls += [
        ToolCall(tool=tool, input=given_, cwd="/code", call_id=f"{tool}{number}")
        for tool in STRUCTURED
        for number, given_ in enumerate(inputs(secret, "apiKey"))
    ]

    async def main(node):
        for call in calls:
            ruling = await node.decisions.decide(call, SESSION)
            if ruling.approval is not None:
                assert secret not in ruling.approval.summary
                assert secret not in ruling.approval.reason
                await node.decisions.answer(ruling.approval.id, NO, ANN)

    with Node(tmp_path / "home") as node:
        asyncio.run(main(node))
        rows = node.store.fetch("SELECT * FROM events")
        assert len(rows) >= len(calls)
        assert secret not in str(rows)
        left = node.store.fetch("SELECT tool, reason, summary, decision, call, answer FROM approvals")
        assert secret not in str(left)
        with open_snapshot(node.store.address) as snapshot:
            assert secret.encode() not in b"".join(export(snapshot))
        node.store.write(lambda cursor: None).result()
    assert node.verify().ok


def test_the_journal_shows_no_secret():
    secret, stream = "Zq7-planted_secret.9x", io.StringIO()
    for form in ("json", "text"):
        journal = Journal(form, stream=stream)
        journal.note("error", "policy.broken", fault=f"API_KEY={secret} is no rule", path=f"/api/x?token={secret}")
        journal.note("info", "request.refused", path=f"/login/https://ann:{secret}@x", where=[f"--token {secret}"])
        journal.note("info", "other", token=secret)
    assert secret not in stream.getvalue()
    assert "request.refused" in stream.getvalue()


@pytest.mark.parametrize("name", [*NAMES, *FIELDS, *(option.lstrip("-") for option in OPTIONS)])
def test_one_table_knows_all_names_of_secrets(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    ["PATH", "author", "passenger", "keyboard", "monkey", "path", "password-stdin", "TOKEN_FILE", "SSH_AUTH_SOCK"],
)
def test_what_only_sounds_like_one_is_none(name):
    assert not is_secret_name(name)
