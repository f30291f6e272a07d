"""Secrets do not get into the log; what is no secret does."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent import Engine, Session, ToolCall
from assent.audit import secret_patterns
from assent.audit.entry import make_entry
from assent.audit.masking import Mask, may_hold_secrets
from assent.decisions.audit_events import evaluated
from assent.decisions.call_summary import summarise
from assent.model import Event

ENGINE = Engine()
MASK = Mask(b"s" * 32)
SECRET = "Tr0ub4dor-and-3"

SECRETS = [
    f"export API_KEY={SECRET}",
    f'export GITHUB_TOKEN="{SECRET}"',
    f"PGPASSWORD='{SECRET}' psql",
    f"mysql --password {SECRET} db",
    f"mysql --password={SECRET} db",
    f"tool --api-key {SECRET}",
    f"curl -u ann:{SECRET} https://example.com",
    f"curl -suann:{SECRET} https://example.com",
    f"curl --user 'ann:{SECRET}' https://example.com",
    f"git clone https://ann:{SECRET}@example.com/x.git",
    f"curl -H 'Authorization: Bearer {SECRET}' x",
    f"curl -H 'X-Api-Key: {SECRET}' x",
    f'{{"password": "{SECRET}"}}',
    f"password: {SECRET}",
    f"DB_PASSWORD={SECRET};x",
    f"sshpass -p {SECRET} ssh host ls",
    f"mysql -h db -p{SECRET} shop",
    f"redis-cli -h cache -a {SECRET} ping",
    f"docker login -u ann -p {SECRET} example.com",
    f"docker login -u ann -p{SECRET} example.com",
    f"ldapsearch -x -w {SECRET}",
    f"7z x -p{SECRET} a.7z",
    f"unzip -P {SECRET} a.zip",
    f"API_TOKEN+={SECRET}",
    f"set -x API_TOKEN {SECRET}",
    f"PASSWORD=${{USER}}{SECRET}",
    f"PASSWORD='<{SECRET}'",
    f"PASSWORD=%{SECRET}",
    f"PASSWORD='{{{SECRET}}}'",
    f"aws configure set aws_secret_access_key {SECRET}",
    f"npm config set //npm.example.com/:_authToken {SECRET}",
    f"poetry config pypi-token.pypi {SECRET}",
    f"psql -c \"ALTER USER ann WITH PASSWORD '{SECRET}'\"",
    f"mysql -e \"CREATE USER ann IDENTIFIED BY '{SECRET}'\"",
    f"redis-cli AUTH {SECRET}",
    f"twine upload -u __token__ -p {SECRET} dist/x",
    f"sqlcmd -S db -U sa -P {SECRET}",
    f"lftp -u ann,{SECRET} example.com",
    f"htpasswd -b users ann {SECRET}",
    f"htpasswd -nbB ann {SECRET}",
    f"keytool -list -storepass {SECRET}",
    f"openssl enc -aes-256-cbc -k {SECRET}",
    f"gh secret set NAME --body {SECRET}",
    f"cargo login {SECRET}",
    f"xfreerdp /u:ann /p:{SECRET} /v:host",
    f"echo {SECRET} | docker login --password-stdin",
    f"echo '{SECRET}' | sudo -S ls",
    f"echo 'root:{SECRET}' | chpasswd",
    f"curl -b 'sid={SECRET}' https://example.com",
    f"curl 'https://example.com/x?sv=1&sig={SECRET}'",
    f"curl 'https://example.com/x?X-Amz-Signature={SECRET}&a=1'",
    f"curl https://hooks.slack.com/services/T0/B0/{SECRET}",
    f"curl https://api.telegram.org/bot1:{SECRET}/getMe",
    f"git clone https://{SECRET}:x-oauth-basic@example.com/x",
    f"python3 -c \"os.environ['API_KEY']='{SECRET}'\"",
    f'python3 -c \'get(url, auth=("ann", "{SECRET}"))\'',
    f'python3 -c \'get(url, headers={{"Authorization": "{SECRET}"}})\'',
    f"machine example.com login ann password {SECRET}",
    f"db:\n  pass: {SECRET}\n",
    f"password: |\n  {SECRET}\n",
    f"password: !!str {SECRET}\n",
    f'password = """\n{SECRET}\n"""',
    f"- name: DB_PASSWORD\n  value: {SECRET}\n",
    f"<password>{SECRET}</password>",
    f'<add key="ApiKey" value="{SECRET}"/>',
    f"Private-Lines: 1\n{SECRET}\nPrivate-MAC: x",
    f"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n{SECRET}\n---- END",
]
PAIRS = [
    [{"name": "DB_PASSWORD", "value": SECRET}],
    {"headers": [{"key": "X-Api-Key", "value": SECRET}]},
    {"headers": [["Authorization", SECRET]]},
    {"headers": {"Authorization": SECRET}},
    {"auth": {"value": SECRET}},
    {"apiKey": {"data": [SECRET]}},
    ["set", "-x", "API_TOKEN", SECRET],
]
KEYS = [
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_" + "a1" * 18,
    "github_pat_" + "a1" * 20,
    "glpat-" + "a1" * 10,
    "xoxb-1234567890-abcdefghij",
    "sk-" + "a1" * 12,
    "sk_live_" + "a1" * 8,
    "AIza" + "a1" * 18,
    "npm_" + "a1" * 18,
    "pypi-" + "a1" * 18,
    "hf_" + "a1" * 17,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def_1",
    "assent_user_" + "a1" * 16,
]


def shown(event):
    return b"\n".join(c if isinstance(c, bytes) else str(c).encode() for c in make_entry(event, MASK).columns)


def event(**payload):
    return Event(
        type="tool.started", event_id="e", timestamp="t", session_id="s", sequence=0, payload={"tool": "x", **payload}
    )


@pytest.mark.parametrize("text", SECRETS)
def test_what_is_called_a_secret_is_masked(text):
    assert SECRET not in MASK.text(text)
    assert SECRET.encode() not in shown(event(summary=text))
    assert SECRET.encode() not in shown(event(nested=[{"deep": text}]))


@pytest.mark.parametrize("value", PAIRS)
def test_a_name_speaks_for_the_value_that_stands_beside_it_or_in_it(value):
    assert SECRET not in repr(MASK.value(value))
    assert SECRET.encode() not in shown(event(input=value))
    assert SECRET.encode() not in shown(event(input=msgspec.json.encode(value).decode()))


@pytest.mark.parametrize("key", KEYS)
def test_what_looks_like_a_key_is_masked(key):
    assert key not in MASK.text(f"run {key} now")
    assert key.encode() not in shown(event(summary=f"run {key}"))


def test_a_private_key_is_masked_whole():
    text = "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\ndef\n-----END OPENSSH PRIVATE KEY-----"
    assert "abc" not in MASK.text(text)
    assert b"abc" not in shown(event(content=text))


@pytest.mark.parametrize("name", ["password", "api_key", "AWS_SECRET_ACCESS_KEY", "client-secret", "authToken"])
def test_a_field_of_a_secret_s_name_is_masked_whatever_it_looks_like(name):
    assert b"plain words" not in shown(event(**{name: "plain words"}))
    assert b"plain words" not in shown(event(deep={name: ["plain words"]}))


def test_an_option_of_a_secret_s_name_speaks_for_the_next_word():
    assert SECRET.encode() not in shown(event(argv=["mysql", "--password", SECRET, "db"]))


@pytest.mark.parametrize(
    "text",
    [
        "git status",
        "echo $API_KEY",
        "export TOKEN=$TOKEN",
        "export TOKEN=$(pass show x)",
        "cat ~/.ssh/id_rsa",
        "npm install token-bucket",
        "grep -rn secret src",
        "https://example.com/@scope/pkg",
        "sort -u names.txt",
        "git push -u origin main",
        "fix the password reset of 2024-users",
        "cat app-secrets.yaml file2.txt",
        "kubectl get secret app-2024 -n prod1",
        "PASSWORD='<your password>' X_TOKEN={{ token }} Y_TOKEN=%TOKEN% Z_TOKEN=$A:$B",
        "curl 'https://example.com/x?page=1234567&sort=code'",
        "auth: ok",
        "echo done | tee passed",
    ],
)
def test_what_is_no_secret_stays(text):
    assert MASK.text(text) == text


@pytest.mark.parametrize("command", [text for text in SECRETS if not text.startswith("{")] + [f"run {k}" for k in KEYS])
def test_a_decision_s_record_has_no_secret_in_any_of_its_parts(command):
    call = ToolCall(tool="Bash", input={"command": command}, cwd="/code")
    record = shown(evaluated(call, Session(), ENGINE.decide(call), command))
    assert not any(secret.encode() in record for secret in (SECRET, *KEYS))


@pytest.mark.parametrize(
    "command", ["pwd && ls", "grep -rn key src --include=*.py", "git log --author=basic", "sort -u x"]
)
def test_an_everyday_record_is_not_even_looked_at_closely(command):
    call = ToolCall(tool="Bash", input={"command": command}, cwd="/code")
    assert not may_hold_secrets(msgspec.json.encode(evaluated(call, Session(), ENGINE.decide(call), command)))


def test_equal_secrets_are_seen_to_be_equal_and_only_in_one_installation():
    first, second = MASK.text(f"TOKEN={SECRET}"), MASK.text(f"OTHER_TOKEN={SECRET}")
    assert first.partition("=")[2] == second.partition("=")[2]
    assert Mask(b"t" * 32).text(f"TOKEN={SECRET}") != first
    assert MASK.text("TOKEN=another") != first


@given(
    st.sampled_from(SECRETS + [f"run {k}" for k in KEYS]),
    st.text(max_size=30),
    st.text(max_size=30),
    st.sampled_from(["\n", "\t", " ", '"', "\\", "\u2028"]),
)
def test_the_quick_look_misses_nothing_that_the_close_look_masks(text, before, after, separator):
    whole = before + separator + text + separator + after
    words = whole.split(" ")
    if any(pattern.spans(whole) for pattern in secret_patterns.PATTERNS):
        assert may_hold_secrets(whole.encode())
        assert may_hold_secrets(msgspec.json.encode({"x": whole}))
        assert may_hold_secrets(msgspec.json.encode({"x": words})) or MASK.across(words) == words


@given(st.text(), st.dictionaries(st.text(), st.text()))
def test_any_event_becomes_a_record_without_hidden_characters(text, payload):
    entry = make_entry(event(summary=text, **{f"p{k}": v for k, v in payload.items()}), MASK)
    body = entry.columns[-1]
    assert isinstance(msgspec.json.decode(body), dict)
    for value in (*entry.columns[:-1], body.decode()):
        assert value is None or not any(c in value for c in "\x00\x1b\x7f\x9b\u202e\u200b\u2066\n")


@pytest.mark.parametrize("command", [*SECRETS, *KEYS])
def test_a_secret_at_the_beginning_of_a_line_is_masked_in_what_is_searched_too(command):
    call = ToolCall(tool="Bash", input={"command": f"ls\n{command}\n\t{command}"}, cwd="/code")
    record = shown(evaluated(call, Session(), ENGINE.decide(call), call.input["command"]))
    assert not any(secret.encode() in record for secret in (SECRET, *KEYS))


@pytest.mark.parametrize("before", ["a ", 'a","', "a\n", "a;"])
@pytest.mark.parametrize("limit", [200, 400, 2000, 4000, 256 * 1024])
@pytest.mark.parametrize("tool", ["Bash", "mcp__x__y"])
def test_half_a_secret_is_not_left_where_a_text_is_cut(limit, tool, before):
    for ahead in range(4, 60, 5):
        text = f"echo {before * (limit // len(before))}"[: limit - ahead - len(before)] + before + KEYS[1] + " b"
        call = ToolCall(tool=tool, input={"command": text, "more": [text]}, cwd="/code")
        decision = msgspec.structs.replace(ENGINE.decide(call), decision_reason=text)
        record = shown(evaluated(call, Session(), decision, summarise(call, decision.reading)))
        assert KEYS[1][:10].encode() not in record
