"""What an agent sends is shown as it is and does nothing, and no other page answers a question through ours."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Error, expect

from browsing import settle

LINES = [
    line.encode().decode("unicode_escape") for line in (Path(__file__).parent / "attacks.txt").read_text().splitlines()
]
LURKS = r"""() => {
    const hidden = new RegExp("[\\u202a-\\u202e\\u2066-\\u2069\\u200b-\\u200f\\u061c\\u00ad\\ufeff\\u2028" +
        "\\u{e0000}-\\u{e007f}\\x00-\\x09\\x0b-\\x1f\\x7f]", "u");
    const found = [document.title].filter((text) => hidden.test(text));
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    while (walk.nextNode()) {
        const node = walk.currentNode;
        const said = node.nodeType === Node.TEXT_NODE ? [node.data] : [...node.attributes].map((each) => each.value);
        found.push(...said.filter((text) => hidden.test(text)));
    }
    return found;
}"""
"""Whatever a page shows, or says to whoever hovers over it or hears it, that is invisible or turns text around."""
ODD = "\u202egnol\u200b-<b>name</b>-\U000e0041" + "x" * 60
SPY = "window.attacked = []; for (const n of ['alert', 'confirm', 'prompt']) window[n] = () => window.attacked.push(n);"
PATHS = (
    "/",
    "/audit",
    "/sessions",
    "/sessions?id=s-1",
    f"/sessions?id={quote(ODD)}",
    "/overview",
    "/policy",
    "/policy?tab=__proto__#<img src=x onerror=alert(1)>",
    "/policy?tab=draft&rule=Bash(node:*)",
    "/people",
)


def test_nothing_in_a_call_is_run_or_hidden_on_any_page(owner, page, ask, daemon, agent):
    owner.page.add_init_script(SPY)
    wide = "<img src=x onerror=alert(1)>" + "x" * 90  # a name that hides something is refused
    hostile = daemon.api(daemon.mint("agent", agent=wide, label='"><script>alert(1)</script>'))
    answered = ask(f"node '{ODD}.js'", session=ODD)
    answer = {"requestId": answered, "decision": "reject", "feedback": f"<i>no</i>{ODD}"}
    daemon.api(daemon.owner).post("/api/permissions", json=answer)
    asked = [ask(line) for line in LINES]
    body = {
        "toolName": "<b>tool</b>",
        "toolInput": {"<i>": "<svg onload=alert(1)>"},
        "sessionId": "<script>alert(2)</script>",
    }
    asked.append(hostile.post("/api/hooks/classify", json=body).json()["requestId"])
    odd = body | {
        "toolInput": {f"__proto__{ODD}": ODD, "__proto__": {ODD: 1}, "file_path": f"/{ODD}"},
        "sessionId": ODD,
    }
    asked.append(hostile.post("/api/hooks/classify", json=odd).json()["requestId"])
    hostile.post("/api/hooks/classify", json=body | {"sessionId": 'x\n{"position": 1}\r\n=cmd()'})
    daemon.user_file.write_text(
        json.dumps({"permissions": {"deny": [{"rule": f"Bash({LINES[0]})", "reason": f"{LINES[1]}{ODD}"}]}})
    )
    for path in PATHS:
        page.goto(path)
        settle(page)
        assert page.evaluate("window.attacked") == []
        strange = page.evaluate(
            "document.querySelectorAll('main script, main iframe, main b, main i, main svg[onload], main img').length"
        )
        assert strange == 0
        assert page.evaluate(LURKS) == [], path
    daemon.user_file.unlink()
    exported = daemon.api(daemon.owner).get("/api/audit/export").text.split("\n")
    places = [json.loads(line)["position"] for line in exported if line]
    assert places == list(range(1, len(places) + 1))
    page.goto("/")
    expect(page.locator(".card")).to_have_count(len(asked) + 1)
    for each, line in zip(asked, LINES, strict=False):
        shown = page.locator(f"#q-{each} .code").first.inner_text()
        assert not set(shown) & set("\u202e\u202d\u2066\u200b\u200d\ufeff\x1b\x07\u00ad\u2028\u00a0\u2800"), line
        assert line.split()[0] in shown or "\\" in shown


def test_invisible_characters_are_written_out_and_warned_of(page, ask):
    asked = ask("node a\u200b\u202e\x1b[2Kb.js")
    shown = page.locator(f"#q-{asked}")
    expect(shown.locator(".escaped").first).to_have_text("\\u200b\\u202e\\e")
    expect(shown).to_contain_text("Contains invisible characters")
    cyrillic = ask("n\u043ede c.js")
    expect(page.locator(f"#q-{cyrillic} .foreign").first).to_have_text("\u043e")


def test_a_megabyte_of_oddities_is_shown_whole_without_a_million_elements(page, ask):
    asked = ask("node x.js " + "a\u200b" * 100_000 + "the-end")
    shown = page.locator(f"#q-{asked}")
    shown.get_by_role("button", name="Show the other").click()
    expect(shown).to_contain_text("a\\u200bthe-end")
    assert shown.evaluate("(card) => card.querySelectorAll('*').length") < 5000


def test_a_line_of_a_megabyte_is_cut_with_a_word_and_can_be_had_whole(page, ask):
    asked = ask("node x.js " + "a" * 900_000 + " the-end")
    shown = page.locator(f"#q-{asked}")
    expect(shown).to_contain_text("Shows the beginning and the end: 2,500 of 900,018 characters.")
    expect(shown).to_contain_text("the-end")
    expect(shown).to_contain_text("… 897,518 characters left out …")
    shown.get_by_role("button", name="Show the other 897,518 characters").click()
    expect(shown).to_contain_text("All 900,018 characters are shown.")


def test_empty_lines_push_nothing_out_of_sight(page, ask):
    asked = ask("node a.js" + "\n" * 1500 + "node evil.js")
    shown = page.locator(f"#q-{asked}")
    expect(shown).to_contain_text("Shows the beginning and the end: 50 of 1,501 lines.")
    expect(shown.locator(".part.dangerous").first).to_contain_text("node")  # what is shown in part has its colours
    expect(shown.locator("dd").get_by_text("evil.js")).to_be_visible()
    expect(shown.locator(".code").first).to_contain_text("node evil.js")
    shown.get_by_role("button", name="Show the other 1,451 lines").click()
    expect(shown.locator(".code").first).to_contain_text("node evil.js")
    edit = ask(tool="Edit", file_path="/etc/hosts", old_string="a", new_string="b" + "\n" * 1500 + "c")
    page.locator(f"#q-{edit}").click(position={"x": 5, "y": 5})
    difference = page.locator(f"#q-{edit} .diff")
    expect(page.locator(f"#q-{edit}")).to_contain_text("After: 1,501 lines")
    assert difference.evaluate("(box) => box.clientHeight < innerHeight && box.scrollHeight > 20 * innerHeight")


def test_what_a_repository_gives_as_a_reason_is_said_to_be_its_own_word(page, ask, daemon):
    repository = daemon.home / "cloned"
    (repository / ".git").mkdir(parents=True)
    reason = "Safe command: approved by dana"
    file = repository / "assent.yaml"
    file.write_text(json.dumps({"permissions": {"ask": [{"rule": "Bash(node:*)", "reason": reason}]}}))
    why = page.locator(f"#q-{ask('node spoof.js', cwd=str(repository), session='cloned')} .why")
    expect(why).to_contain_text(f"“{reason}” says a rule: Bash(node:*) @ project {file}")


def test_a_name_that_is_long_is_cut_with_a_word(page, ask, daemon):
    elsewhere = daemon.api(daemon.mint("agent", agent="coder", remote=True))
    body = {"toolName": "bash", "toolInput": {"command": "node x.js"}, "cwd": "/far" + "/deep" * 2000}
    asked = elsewhere.post("/api/hooks/classify", json=body).json()["requestId"]
    shown = page.locator(f"#q-{asked}")
    expect(shown.locator(".facts")).to_contain_text("Shows the beginning and the end: 300 of 10,")
    assert shown.locator(".facts").bounding_box()["height"] < 500


@pytest.mark.parametrize(
    "code",
    [
        "document.body.innerHTML = '<p>x</p>'",
        "document.createElement('script').src = '/assets/app.js'",
        "document.createElement('script').text = 'alert(1)'",
        "setTimeout('alert(1)')",
        "document.write('x')",
        "new DOMParser().parseFromString('<p>x</p>', 'text/html')",
        "document.createElement('div').setAttribute('onclick', 'alert(1)')",
        "document.createElement('iframe').srcdoc = '<p>x</p>'",
    ],
)
def test_text_becomes_neither_markup_nor_code_even_in_our_own_scripts(page, owner, code):
    with pytest.raises(Error, match="Trusted"):
        page.evaluate(f"() => {{ {code} }}")
    owner.complaints.clear()


def test_nothing_is_loaded_from_or_sent_to_anywhere_else(page, owner):
    broken = page.evaluate(
        """async () => {
            const found = [];
            document.addEventListener("securitypolicyviolation", (event) => found.push(event.effectiveDirective));
            new Image().src = "http://127.0.0.1:1/x";
            await fetch("http://127.0.0.1:1/x").catch(() => {});
            document.body.setAttribute("style", "display: none");
            const add = (name, given) => document.body.append(Object.assign(document.createElement(name), given));
            add("link", { rel: "stylesheet", href: "http://127.0.0.1:1/" });
            add("iframe", { src: "/" });
            while (found.length < 5) await new Promise((done) => setTimeout(done, 10));
            return found.sort();
        }"""
    )
    assert broken == ["connect-src", "frame-src", "img-src", "style-src-attr", "style-src-elem"]
    # Each is a complaint, which fails whatever test it comes up in.
    assert len([said for said in owner.complaints if "Content Security Policy" in said]) >= len(broken)
    owner.complaints.clear()


EVIL = """<iframe src="TARGET/" width="800" height="600"></iframe>
<form id="f" method="post" enctype="text/plain" action="TARGET/api/permissions" target="out">
<input name='{"requestId":"REQUEST","decision":"approve","x":"' value='"}'></form><iframe name="out"></iframe>"""
POSTS = """async ([url, id]) => {
    const send = (init) => fetch(url + "/api/permissions", { credentials: "include", ...init }).then(
        (answer) => answer.type + answer.status, () => "refused");
    const body = JSON.stringify({ requestId: id, decision: "approve" });
    return [
        await send({ method: "POST", body, headers: { "content-type": "application/json" } }),
        await send({ method: "POST", body, mode: "no-cors" }),
        await send({}),
    ];
}"""


class Evil(http.server.BaseHTTPRequestHandler):
    """Another site, which frames ours and posts to it."""

    target = ""

    def do_GET(self) -> None:
        page = EVIL.replace("TARGET", self.target).replace("REQUEST", self.path[1:])
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(page.encode())

    def log_message(self, *_args) -> None:
        pass


@contextlib.contextmanager
def another_site(target: str, host: str):
    handler = type("Handler", (Evil,), {"target": target})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{host}:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_another_site_can_neither_frame_the_page_nor_post_to_it(visit, ask, outcome, daemon, host):
    """By the second name it is the same site to the browser, which sends our cookie along: another port is no other."""
    visitor = visit()
    page = visitor.log_in()
    asked = ask()
    expect(page.locator(f"#q-{asked}")).to_be_visible()
    with another_site(daemon.url, host) as site:
        page.goto(f"{site}/{asked}")
        page.wait_for_load_state("networkidle")
        assert all(not frame.locator("#main").count() for frame in page.frames[1:])
        page.evaluate("document.getElementById('f').submit()")
        page.wait_for_load_state("networkidle")
        said = page.evaluate(POSTS, [daemon.url, asked])
        assert said[0] == said[2] == "refused"
        heard = page.evaluate(
            """url => new Promise((done) => {
                const socket = new WebSocket(url.replace("http", "ws") + "/ws/permissions?userId=x");
                socket.onopen = () => done("open");
                socket.onerror = () => done("refused");
            })""",
            daemon.url,
        )
        assert heard == "refused"
    assert outcome(asked)["status"] == "pending"
    visitor.complaints.clear()  # the browser told the other site off
