"""Random cases of the toy world, the one place where they meet the product, and their shrinking."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import msgspec

from assent.model import (
    Consent,
    Decision,
    Facts,
    Grant,
    Layer,
    Mode,
    PathPolicy,
    Policy,
    Rule,
    Session,
    ToolCall,
    Verdict,
)
from toyworld import ASSENT, FILES, HOME, LINES, NOW, UNREADABLE, Case

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

RULES = (
    *(
        "Bash",
        "Bash(git:*)",
        "Bash(git status)",
        "Bash(rm:*)",
        "Bash(npm:*)",
        "Bash(* install)",
        "Bash(sudo:*)",
    ),
    *(
        "Bash(python *)",
        "Bash(echo hi)",
        "Bash(cat:*)",
        "Bash(rm -rf /)",
        "Read",
        "Read(/ws/**)",
        "Read(src/*)",
    ),
    *("Write", "Write(/ws/src/*)", "Write(/ws/src/**)", "Write(/etc/**)", "Edit", "Edit(src/**)", "WebFetch"),
    *("WebFetch(domain:example.com)", "WebFetch(domain:*.example.com)", "mcp__srv__*", "Frobnicate"),
)
EXCEPTIONS = {
    "Bash": ("git status", "git:*", "rm x", "cat README.md"),
    "Read": ("/ws/src/**", "/ws/README.md", "/etc/*"),
    "Write": ("/ws/src/**", "/ws/out.txt", "/etc/hosts"),
}
GLOBS = ("/ws/**", "/ws/src/*", "/ws/src/**", "/ws/.env", "/etc/**", "/tmp/*", "/ws-evil/*")
URLS = ("https://example.com/", "https://api.example.com/x", "https://evil-example.com/")
ANSWERS = (None, "allow", "ask", "deny", "raise")


def rule(text: str, **extras: Any) -> Rule:
    """Build a rule without the product's parser."""
    tool, _, rest = text.partition("(")
    return Rule(tool=tool, pattern=rest.removesuffix(")") if rest else None, **extras)


def random_rule(rng: random.Random, effect: str) -> Rule:
    extras: dict[str, Any] = {}
    text = rng.choice(RULES)
    tool = text.partition("(")[0]
    if effect == "allow" and rng.random() < 0.25:
        extras["destructive"] = True
    if effect == "ask" and rng.random() < 0.25:
        extras["every_time"] = True
    if effect != "allow" and tool in EXCEPTIONS and rng.random() < 0.25:
        extras["exceptions"] = (rng.choice(EXCEPTIONS[tool]),)
    if rng.random() < 0.15:
        extras["expires"] = rng.choice((NOW - 1, NOW + 1))
    return rule(text, **extras)


def random_rules(rng: random.Random, effect: str, most: int) -> tuple[Rule, ...]:
    return tuple(random_rule(rng, effect) for _ in range(rng.randint(0, most)))


def random_paths(rng: random.Random) -> PathPolicy:
    if rng.random() < 0.7:
        return PathPolicy()
    some = [tuple(rng.sample(GLOBS, rng.randint(0, 2))) for _ in range(2)]
    return PathPolicy(allow=some[0], deny=some[1][:1], default=rng.choice((None, None, *Verdict)))


def random_policy(rng: random.Random, layer: Layer, *, embedded: bool = False) -> Policy:
    return Policy(
        layer=layer,
        embedded=embedded,
        trusted=layer is not Layer.PROJECT or rng.random() < 0.5,
        mode=rng.choice((None, *Mode)) if rng.random() < (0.7 if layer >= Layer.USER else 0.2) else None,
        classifier=rng.choice((None, None, None, True, False)),
        interactive=rng.choice((None,) * 8 + (True, False)),
        allow=random_rules(rng, "allow", 3),
        ask=random_rules(rng, "ask", 1),
        deny=random_rules(rng, "deny", 1),
        read=random_paths(rng),
        write=random_paths(rng),
        forbidden=(rng.choice(GLOBS),) if rng.random() < 0.1 else (),
    )


def random_policies(rng: random.Random) -> tuple[Policy, ...]:
    if rng.random() < 0.2:
        return (random_policy(rng, Layer.USER, embedded=True),)
    layers = rng.sample(tuple(Layer), rng.choice((0, 1, 1, 1, 2, 2, 3)))
    return tuple(random_policy(rng, layer) for layer in layers)


def random_call(rng: random.Random) -> ToolCall:
    cwd = rng.choice(("/ws", "/ws", "/ws/src", "/tmp"))
    tool = rng.choice(
        ("Read", "Write", "Edit", "Bash", "Bash", "Bash", "Bash", "WebFetch", "Frobnicate", "mcp__srv__do")
    )
    match tool:
        case "Read" | "Write" | "Edit":
            return ToolCall(tool=tool, input=_file_input(tool, rng.choice(FILES)), cwd=cwd)
        case "WebFetch":
            return ToolCall(tool=tool, input={"url": rng.choice(URLS), "prompt": "what is it?"}, cwd=cwd)
        case "Bash":
            return ToolCall(tool=tool, input={"command": random_line(rng)}, cwd=cwd)
    return ToolCall(tool=tool, input={"thing": rng.choice((1, *FILES))}, cwd=cwd)


def _file_input(tool: str, path: str) -> dict[str, str]:
    more = {"Write": {"content": "hi"}, "Edit": {"old_string": "a", "new_string": "b"}}
    return {"file_path": path, **more.get(tool, {})}


def random_line(rng: random.Random) -> str:
    if rng.random() < 0.05:
        return UNREADABLE
    atoms = rng.choices([line for line in LINES if line != UNREADABLE], k=rng.choice((1, 1, 2, 3)))
    atoms.sort(key=lambda atom: atom == "$X y")  # an unknown program may change the directory of what follows
    return atoms[0] + "".join(f" {rng.choice(('&&', ';', '|'))} {atom}" for atom in atoms[1:])


def random_session(rng: random.Random) -> Session:
    return Session(
        id="s1",
        user="ann",
        agent="bot",
        workspace=rng.choice((("/ws",), ("/ws",), ("/ws",), ())),
        guessed=rng.random() < 0.2,
        confined=rng.random() < 0.1,
        modes=(rng.choice(tuple(Mode)),) if rng.random() < 0.15 else (),
        interactive=rng.random() < 0.85,
        run=rng.random() < 0.2,
    )


def random_grant(rng: random.Random) -> Grant:
    return Grant(
        id="g1",
        rule=rule(rng.choice(RULES)),
        destructive=rng.random() < 0.4,
        outside=rng.random() < 0.5,
        user=rng.choice((None, None, "ann", "eve")),
        session=rng.choice((None, None, None, "s1", "s2")),
        expires_at=rng.choice((None, None, None, NOW + 1, NOW - 1)),
    )


def random_consent(rng: random.Random) -> Consent:
    grants = tuple(random_grant(rng) for _ in range(rng.choice((0, 0, 1, 2))))
    return Consent(yes=rng.random() < 0.15, destructive=rng.random() < 0.2, grants=grants)


def _answers(rng: random.Random) -> tuple[str | None, ...]:
    return (rng.choice(ANSWERS),) if rng.random() < 0.12 else ()


def random_world(rng: random.Random) -> Case:
    """Return all that one engine is built from; its call says nothing yet."""
    return Case(
        call=ToolCall(tool="Frobnicate"),
        policies=random_policies(rng),
        sandbox=rng.random() < 0.6,
        disk=rng.random() < 0.5,
        hooks=_answers(rng),
        checks=_answers(rng),
        hosts=_answers(rng),
    )


def random_case(rng: random.Random, world: Case) -> Case:
    """Put one more call, by somebody, to the same engine."""
    who, said = random_session(rng), random_consent(rng)
    return dataclasses.replace(world, call=random_call(rng), session=who, consent=said)


def speaker(answer: str | None) -> Callable[[ToolCall, Session], str | None]:
    """Return a hook, check or host policy that always says the same."""

    def speak(call: ToolCall, session: Session) -> str | None:
        if answer == "raise":
            raise RuntimeError("out of order")
        return answer

    return speak


TOOLS = ("Read", "Write", "Edit", "Bash", "WebFetch", "Frobnicate", "mcp__srv__do")


def identity(path: str) -> str | None:
    """Follow no link, on a disk that has none, and no folder with anything in it."""
    return path


def facts(case: Case) -> Facts:
    known: dict[str, Any] = {"resolve": identity, "names": lambda _folder: ()} if case.disk else {}
    return Facts(now=NOW, home=HOME, assent_paths=(ASSENT,), sandbox=case.sandbox, **known)


def engine_of(world: Case) -> Any:
    """Build the product's engine for a case."""
    from assent.policy.engine import Engine

    checks = [speaker(a) for a in world.checks]
    return Engine(
        world.policies,
        facts=lambda: facts(world),
        hooks=[speaker(a) for a in world.hooks],
        checks=dict.fromkeys(TOOLS, checks),
        host_policies=[speaker(a) for a in world.hosts],
    )


def decide(case: Case, engine: Any = None) -> Decision:
    """Ask the product."""
    decision: Decision = (engine or engine_of(case)).decide(case.call, case.session, case.consent)
    return decision


def shrink(case: Case, still: Callable[[Case], bool]) -> Case:
    """Leave out what can be left out while the case stays of interest."""
    return next((shrink(less, still) for less in _smaller(case) if still(less)), case)


def _smaller(case: Case) -> Iterator[Case]:
    for name in ("policies", "hooks", "checks", "hosts"):
        items = getattr(case, name)
        for i in range(len(items)):
            yield dataclasses.replace(case, **{name: items[:i] + items[i + 1 :]})
    for i, policy in enumerate(case.policies):
        for less in _plainer(policy, ("layer", "embedded", "trusted")):
            yield dataclasses.replace(case, policies=(*case.policies[:i], less, *case.policies[i + 1 :]))
    for session in _plainer(case.session, ("id", "user", "agent")):
        yield dataclasses.replace(case, session=session)
    for consent in _plainer(case.consent, ()):
        yield dataclasses.replace(case, consent=consent)
    words = str(case.call.input.get("command", "")).split(" ")
    for i, word in enumerate(words):
        if word in ("&&", ";", "|"):
            for part in (words[:i], words[i + 1 :]):
                call = msgspec.structs.replace(case.call, input={"command": " ".join(part)})
                yield dataclasses.replace(case, call=call)


def _plainer(record: Any, keep: tuple[str, ...]) -> Iterator[Any]:
    """Yield the record with one field put back to its default, or one item shorter."""
    for field in msgspec.structs.fields(record):
        value = getattr(record, field.name)
        if field.name in keep or value == field.default:
            continue
        if isinstance(value, tuple):
            shorter = [value[:i] + value[i + 1 :] for i in range(len(value))]
            yield from (msgspec.structs.replace(record, **{field.name: less}) for less in shorter)
        else:
            yield msgspec.structs.replace(record, **{field.name: field.default})


def describe(case: Case) -> str:
    """Write a case down for a person."""
    said = [f"{n}={getattr(case, n)!r}" for n in ("hooks", "checks", "hosts") if getattr(case, n)]
    known = f"sandbox={case.sandbox} disk={case.disk}"
    policies = [f"policy {msgspec.json.encode(p).decode()}" for p in case.policies]
    call = f"{case.call.tool} {case.call.input} in {case.call.cwd}"
    return "\n".join([call, *policies, repr(case.session), repr(case.consent), *said, known])
