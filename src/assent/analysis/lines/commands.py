"""Shell lines and argument vectors: every command in them as operations, each with its tier and reason.

What is not surely understood is dangerous, and what cannot be read at all is said so.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from posixpath import basename

import msgspec

from assent.analysis.bash.charset import too_long
from assent.analysis.budget import COMMAND, TOO_MUCH, WORDS, Meter
from assent.analysis.evaluate.script import parse
from assent.analysis.folder_operations import delete, sweep_out
from assent.analysis.ir import Command, Script, Word
from assent.analysis.languages.foreign_shells import PROMPT, SHARED, foreign_call, foreign_shell, foreign_variable
from assent.analysis.lines.argument_effects import argument_effects, role_effects, surroundings
from assent.analysis.lines.dataflow import FlowTrace, mark_endless, mark_flows, mark_variables
from assent.analysis.lines.exfiltration import mark_sent
from assent.analysis.lines.findings import Findings
from assent.analysis.lines.mentioned_paths import mentioned_hosts, mentioned_paths
from assent.analysis.lines.nested import Frame, Known, read_inners, read_inside
from assent.analysis.lines.output_options import told_writes
from assent.analysis.operations import OperationContext, is_own, locate, reading, secret_variable, working
from assent.analysis.programs.clauses import clauses_of, in_case, is_broad
from assent.analysis.programs.code_sources import find_loads, find_redirects
from assent.analysis.programs.command_cache import Sense, understand, understand_find, understand_moved
from assent.analysis.programs.embedded_code import (
    LANGUAGES,
    QUIET,
    SPEAKING,
    CodeJudgement,
    judge_environment,
    judge_word,
)
from assent.analysis.programs.impact import name_files, name_resources
from assent.analysis.programs.lookup import (
    alternatives,
    find_entry,
    find_own,
    find_program,
    find_strict,
    is_asked_about,
)
from assent.analysis.programs.match import Match, match_words
from assent.analysis.programs.tier import (
    join_plain,
    judge,
    judge_find,
    judge_words,
    output_of,
    picked_words,
    quote,
    roles_of,
    unseen_words,
)
from assent.analysis.programs.unknown_words import settle
from assent.analysis.programs.wrappers import FIND, find_openings, is_given_input, join, with_descriptors
from assent.analysis.resources.environment import Threat
from assent.analysis.resources.paths import Located, Place
from assent.budget import step
from assent.catalog import Entry, Role, assignment_is_inert, is_unheard, secret_names
from assent.catalog.credential_output import find_revealed
from assent.catalog.overlay import NOTHING
from assent.catalog.project_code import may_load
from assent.model import COMMAND_EXECUTE, DANGEROUS, DESTRUCTIVE, FS_WRITE, SAFE, UNKNOWN, Operation, Tier

_MOST_COMMANDS = 400
"""Commands that are read in one call, those inside of others included."""
_MOST_WORDS = 3_000
_MOST_TEXT = 131_072
"""Characters of lines inside the line that are read."""
_MOST_LOOKS = 600
"""Folders whose settings are looked at for one call, each as often as a command may obey them."""
_MOST_MOVES = 16
"""Folders that a command is told to go to, one after the other."""
_STATEMENTS = frozenset(("DROP", "TRUNCATE", "DELETE", "UPDATE", "ALTER"))
"""No programs, but SQL typed where a command is expected: it is meant for a database, and read as such."""
_RUNNING: frozenset[Role] = frozenset(("awk", "code", "helper", "sed", "setting", "sql"))
"""Words that can hold a command which is not opened, where what holds them is not safe."""
_SENDING: frozenset[Role] = frozenset(("data", "from"))
"""Words that name what another machine gets."""
_text, _sweeps = operator.attrgetter("text"), operator.attrgetter("sweep")


def read_line(
    line: str | Sequence[str], place: Place, base: str | None = None
) -> tuple[tuple[Operation, ...], str | None]:
    """Return the operations of a shell line or argument vector, and why some of it is unreadable, or None.

    `base` is the folder the call stands in, where its input names another one to work in.
    """
    if isinstance(line, str):
        script, shown = parse(line, cwd=place.cwd, home=place.facts.home), line
    else:
        shown = " ".join(line)
        script = Script(unreadable=too_long(shown))
        if script.unreadable is None:
            words = tuple(Word(w) for w in line)
            script, shown = Script((Command(words, cwd=place.cwd),)), quote(words)
    meter = place.meter or Meter()
    reader = _Reader(place.metered(meter), meter, base or place.cwd)
    reader.read_script(Frame(script, line=shown))
    for threat in place.ambient.threats:
        if threat.early and threat not in reader.heard:
            reader.obey(threat)
    if reader.looks:
        reader.look_again()
    findings = reader.findings
    if meter.left < 0:
        findings.blur(TOO_MUCH)
    if findings.unreadable:
        findings.add(_plain(shown.strip(), DANGEROUS, findings.unreadable))
    elif not findings.operations:
        findings.add(_plain(shown.strip() or ":", SAFE, "does nothing"))
    return tuple(findings.operations), findings.unreadable


def _plain(text: str, tier: Tier, reason: str) -> Operation:
    return Operation(kind=COMMAND_EXECUTE, resource=text, tier=tier, reason=reason)


def _told(said: CodeJudgement, reason: str) -> CodeJudgement:
    """Return what is said of a command that prints a credential: at least dangerous, and for that reason."""
    return said if said.tier is DESTRUCTIVE else msgspec.structs.replace(said, tier=DANGEROUS, reason=reason)


class _Reader:
    """Reads the scripts of one call."""

    functions: frozenset[str] = frozenset()
    left = _MOST_COMMANDS
    room = _MOST_TEXT
    traps_left = _MOST_LOOKS
    _based: bool | None = None

    def __init__(self, place: Place, meter: Meter, base: str | None) -> None:
        self.place = place
        self.base = base
        self.findings = Findings(meter)
        self.looks: list[tuple[int, Match]] = []
        """What is safe as long as no file of the project says otherwise."""
        self.heard: set[Threat] = set()
        """What was said of the environment."""

    def read_script(self, frame: Frame) -> list[FlowTrace]:
        """Read every command, and return what each was found to be."""
        script = frame.script
        if script.functions:
            self.functions |= frozenset(script.functions)
        if script.unreadable:
            self.findings.blur(script.unreadable)
        followed = self._followed(script) if script.followed else ()
        traces = []
        for command in script.commands:
            begin = len(self.findings.operations)
            trace = FlowTrace() if command.latent in followed and command.latent else self.read_command(command, frame)
            trace.span = (begin, len(self.findings.operations))
            traces.append(trace)
        for name in script.bound:
            if not assignment_is_inert(name):
                self.assign(name, Word(UNKNOWN), DANGEROUS)
        if len(traces) == 1 and script.commands[0].stands_alone and not (traces[0].output or traces[0].sent):
            return traces
        mark_flows(script, traces, self.findings)
        mark_sent(script, traces, self.findings)
        mark_endless(script, traces, self.findings)
        mark_variables(script, traces, self.findings, frame.line)
        return traces

    def _followed(self, script: Script) -> frozenset[str]:
        """Give the functions of which what was found by their calls is all: none is called by the name of a program.

        To a shell that goes on, a later call is one of a program that nobody knows, and is asked about.
        """
        unknown = [name for name, _ in script.followed if is_asked_about(name, self.place)]
        for name, doubt in script.followed:
            if name not in unknown and doubt is not None:
                self.findings.blur(doubt)
        return frozenset(unknown)

    def read_command(self, command: Command, frame: Frame) -> FlowTrace:
        step()
        self.left -= 1
        if self.left < 0:
            self.findings.blur("too many commands to analyse")
            return FlowTrace()
        if not command.words:
            return self._bare(command)
        if len(command.words) > _MOST_WORDS:
            command = self._cut(command)
        findings = self.findings
        index, words = len(findings.operations), len(command.words)
        findings.meter.left -= COMMAND + (words // WORDS if command.constant else words)
        if not command.constant:
            described = with_descriptors(command)
            command = settle(described, frame.script, self.place, self.functions)
        word = command.words[0]
        name, entry, reason = find_program(word, self.functions, self.place)
        cwd = command.cwd
        if entry is None:
            trace = self._opaque(command, frame, reason)
        elif entry.reader == "find":
            trace = self._find(name, command, frame)
        else:
            sense, moved = understand(name, entry, command, self.place), command
            if sense.match.values:
                sense, moved = self._moved(sense, command, frame)
                cwd = moved.cwd
            trace = self._known(sense, moved, frame)
        self._add_circumstances(name, entry, command, index)
        # Who works where the call stands leaves nothing.
        if cwd != self.base and not frame.elsewhere and findings.operations[index].tier is not SAFE:
            self._stray(index, cwd)
        trace.network = len(findings.operations) > index + 1 and findings.connects(index)
        if word.feeds:
            trace.code += word.feeds
        return trace

    def _cut(self, command: Command) -> Command:
        """Return a command with no more words than are read."""
        self.findings.blur(f"a command has more than {_MOST_WORDS} words")
        return msgspec.structs.replace(command, words=command.words[:_MOST_WORDS])

    def _add_circumstances(self, name: str, entry: Entry | None, command: Command, index: int) -> None:
        """Add what policies say about a command, what surrounds it, and where it runs."""
        if name in SHARED and entry is not None:
            self._foreign(foreign_call(name, command.words))
        if self.place.lexicon is not NOTHING:
            self._revise(name, entry, command, index)
        if not command.constant:
            self._given(name, entry, command, index)
            self._around(command, index)
        if self.place.facts.assent_paths:
            self._used(command, index)
        for threat in self.place.ambient.threats:
            if threat not in self.heard and threat.reaches(name):
                self.obey(threat)

    def obey(self, threat: Threat) -> None:
        """Add a variable of the environment that a command, or the shell itself, would obey; once for each line."""
        self.heard.add(threat)
        self.findings.add(threat.operation)

    def _used(self, command: Command, index: int) -> None:
        """Add the use of a folder that is Assent's own."""
        for folder in command.folders:
            if folder is not None and is_own(folder, self.place):
                self.findings.extend((reading(Located(folder), OperationContext(self.place, folder, index)),))

    def _given(self, name: str, entry: Entry | None, command: Command, index: int) -> None:
        """Judge the variables that a command is given."""
        for variable, value in command.assignments:
            if variable == "IFS" and name == "read":
                continue  # it tells this one command where to cut what it reads
            if entry is not None and is_unheard(variable, name):
                continue
            said = judge_environment(variable, value)
            self.findings.worsen(index, said.tier, said.reason)
            self.assign(variable, value, said.tier)

    def _revise(self, name: str, entry: Entry | None, command: Command, index: int) -> None:
        """Apply what policies say about a command: the user's own word counts instead, others' where it is stricter.

        What the command touches and runs by the catalog stays; what they say that it touches comes in addition.
        """
        own = find_own(name, self.place) if entry is not None else None
        if own is not None and own is not entry:
            self.findings.judge_anew(index, self._judge_by(own, name, command, index))
        for stricter in find_strict(name, self.place):
            said = self._judge_by(stricter, name, command, index)
            self.findings.worsen(index, said.tier, said.reason, said.impact, said.rollback)

    def _judge_by(self, entry: Entry, name: str, command: Command, index: int) -> CodeJudgement:
        match = match_words(name, entry, command.words[1:])
        clauses = clauses_of(match, self.place, command.cwd)
        match = in_case(match, clauses)
        if match.obeys:
            self.findings.obey(index, match.obeys)
        roles, extra = roles_of(match, clauses)
        for folder in command.folders:
            ground = OperationContext(self.place, folder, index, match.entry.sweep, match.entry.lists)
            argument_effects(self.findings, match, [(r, w) for r, w in roles if r not in QUIET], [], ground)
        judged = [judge_word(r, w, match.name) for r, w in roles if r in LANGUAGES]
        said = name_resources(judge(match, clauses, judged, extra=extra), match, roles, command.folders)
        return self._trapped(said, match, command)

    def _bare(self, command: Command) -> FlowTrace:
        """Read assignments and redirections that stand alone."""
        index = None
        for variable, value in command.assignments:
            # Where words are cut is followed, but in a function, which may be called at any time.
            if not assignment_is_inert(variable) and (variable != "IFS" or self.functions):
                index = self.assign(variable, value, DANGEROUS)
        self._around(command, index)
        return FlowTrace(index)

    def assign(self, variable: str, value: Word, tier: Tier) -> int | None:
        """Add the setting of a variable, which no allow on the command speaks for; a harmless one adds nothing."""
        if tier is SAFE or self.findings.full:
            return None
        return self.findings.add(
            Operation(
                kind=COMMAND_EXECUTE,
                resource=f"{variable}={quote((value,))}",
                argv=(f"{variable}={value.text}",),
                tier=tier,
                reason=f"sets {variable.replace(UNKNOWN, '…')}, which can change what programs do",
            )
        )

    def _stray(self, index: int, cwd: str | None) -> None:
        """Add the folder of a command that is not safe, where the line leaves the workspace for it."""
        command = self.findings.operations[index]
        # No pattern speaks for a program that is not known, so there is no allow that could follow it.
        if not self._is_based() or (cwd is None and UNKNOWN in command.argv[0]):
            return
        located = Located(UNKNOWN) if cwd is None else self.place.locate(cwd)
        if not self.place.inside(located):
            self.findings.add(working(located, index))

    def _is_based(self) -> bool:
        """Tell whether the call stands in the workspace."""
        if self._based is None:
            self._based = self.base is not None and self.place.inside(self.place.locate(self.base))
        return self._based

    def _around(self, command: Command, owner: int | None) -> None:
        """Add what surrounds a command: its redirections, and the secrets its words name."""
        words = command.words
        if command.assignments or command.redirects:
            words += (*[v for _, v in command.assignments], *[r.target for r in command.redirects])
        for redirect in command.redirects:
            if redirect.direction != "here" and redirect.target.text.startswith("!"):
                self.findings.blur("a redirection to `!` means something else in other shells")
            if redirect.direction == "write" and redirect.target.text.lower() == "nul":
                self._foreign(PROMPT)
        for cwd in command.folders:
            self.findings.extend(surroundings(command, OperationContext(self.place, cwd, owner)))
        for word in words:
            if word.variables:
                self._foreign(foreign_variable(word))
        for variable in {v: None for w in words for v in w.variables}:
            if secret_names.is_secret_variable(variable):
                self.findings.add(secret_variable(variable, owner))

    def _opaque(self, command: Command, frame: Frame, reason: str) -> FlowTrace:
        if command.calls and not is_given_input(command):
            said = CodeJudgement(SAFE, f"{command.words[0].text} is a function defined in the command")
            index = self._execution(command, frame, said)
            # In its body these words have no names: what they may name there is taken for read.
            for word in command.words[1:]:
                for folder in command.folders:
                    self.findings.extend(role_effects("filter", word, OperationContext(self.place, folder, index)))
            return FlowTrace(index)
        said = CodeJudgement(DANGEROUS, self._foreign(foreign_shell(command.words)) or reason)
        if command.words[0].text.upper() in _STATEMENTS:
            said = max(said, judge_word("sql", join(command.words), "the line"), key=lambda j: j.tier.rank)
        index = self._execution(command, frame, said, command.words[1:], opaque=True, alone=self._namesake(command))
        self._write_told(command.words[1:], command, index)
        if "/" in command.words[0].text:
            ground = OperationContext(self.place, command.cwd, index)
            self.findings.extend(role_effects("exec", command.words[0], ground))
        for names in alternatives(command.words[0]):
            self.read_command(msgspec.structs.replace(command, words=(*names, *command.words[1:])), frame)
        return FlowTrace(index)

    def _write_told(self, words: Sequence[Word], command: Command, index: int) -> None:
        """Add what a command may write by words of which nobody knows what it does with them."""
        mentions = self.findings.operations[index].mentions
        for folder in command.folders if words or mentions else ():
            known = {o.resource for o in self.findings.operations[index:] if o.kind is FS_WRITE}
            found = told_writes(words, mentions, OperationContext(self.place, folder, index))
            self.findings.extend([write for write in found if write.resource not in known])

    def _namesake(self, command: Command) -> Operation | None:
        """Return what a program that lies in some other folder is by its words, if it does what its name says."""
        name = basename(command.words[0].text)
        entry = find_entry(name)
        if entry is None:
            return None
        argv = tuple(map(_text, command.words))
        match = match_words(name, entry, command.words[1:])
        redirects = find_redirects(match, command.words)
        return msgspec.structs.replace(
            _plain(quote(command.words), DANGEROUS, ""),
            argv=argv,
            secret=find_revealed(argv) is not None,
            redirects=redirects,
            loads=find_loads(match, redirects, command),
        )

    def _foreign(self, shell: str | None) -> str:
        """Say that a line is meant for another shell, if it is."""
        if shell is None:
            return ""
        reason = f"looks like a command for {shell}, which Assent does not analyse"
        self.findings.blur(reason)
        return reason

    def _known(self, sense: Sense, command: Command, frame: Frame) -> FlowTrace:
        match, clauses, roles, kinds = sense.match, sense.clauses, sense.roles, sense.kinds
        entry, said = match.entry, sense.said
        judged: list[CodeJudgement] = []
        if entry.connects or not kinds.isdisjoint(SPEAKING):
            judged = judge_words(match, roles, command, frame.script)
            said = judge(match, clauses, judged, extra=sense.extra)
        if match.obeys:
            said = self._trapped(said, match, command)
        # In a run there are files that no command may name, not even one that only looks.
        picked = picked_words(roles) if self.place.run else []
        untold: Sequence[Word] = ()
        if said.tier is SAFE:
            index = self._execution(command, frame, said, picked, alone=sense.alone)
            if match.obeys:
                self.looks.append((index, match))
        else:
            opaque = sense.extra or match.fault is not None or entry.options == "any"
            said = name_resources(said, match, roles, command.folders)
            loads = find_loads(match, sense.alone.redirects, command) if match.loads else ()
            alone = msgspec.structs.replace(sense.alone, loads=loads) if loads else sense.alone
            untold = command.words[1:] if opaque else ()
            unseen = unseen_words(match, roles, untold) + picked
            opaque = opaque or not kinds.isdisjoint(_RUNNING) or "--" in map(_text, command.words)
            index = self._execution(command, frame, said, unseen, opaque=opaque, alone=alone)
        sweep = entry.sweep or (bool(clauses) and any(map(_sweeps, clauses)))
        if judged or sweep or entry.connects or not kinds <= QUIET:
            for folder in command.folders:
                if folder is not command.cwd and self.findings.full:
                    break  # there may be many
                ground = OperationContext(self.place, folder, index, sweep, entry.lists, frame.elsewhere)
                argument_effects(self.findings, match, roles, judged, ground)
        self._write_told(untold, command, index)
        trace = FlowTrace(index, output=output_of(match, clauses, roles, command), reveals=entry.reveals)
        if not kinds.isdisjoint(_SENDING):
            trace.sent = tuple(self._sent(roles, command, index))
        if sense.inside:
            read_inside(self, Known(match, clauses, roles, judged), command, frame, trace)
        return trace

    def _sent(self, roles: Sequence[tuple[Role, Word]], command: Command, index: int) -> Iterator[str]:
        """Name the secrets that a command is told to send."""
        ground = OperationContext(self.place, command.cwd, index)
        for role, word in roles:
            if role in _SENDING:
                yield from (o.resource for o in role_effects(role, word, ground) if o.secret)

    def _trapped(self, said: CodeJudgement, match: Match, command: Command) -> CodeJudgement:
        """Raise a look to what a repository's own settings make of it, in any folder that it may look in."""
        if said.tier is not SAFE or not match.obeys:
            return said
        # Of a folder that the line picks itself, what is known of its path is asked for instead.
        if command.cwd is None and self.base is not None and not command.elsewhere:
            return CodeJudgement(DANGEROUS, f"{match.name} reads project settings; working directory unknown")
        for folder in dict.fromkeys((command.cwd, *command.elsewhere)):
            self.traps_left -= 1
            if self.traps_left < 0:
                return CodeJudgement(DANGEROUS, f"{match.name} may run in too many directories to analyse")
            trap = None if folder is None else self.place.ask(self.place.facts.trap, match.obeys, folder)
            if trap is None and folder == UNKNOWN:
                trap = "its working directory is known only at run time"
            if trap is not None:
                return CodeJudgement(DANGEROUS, f"{match.name} here: {trap}")
        return said

    def look_again(self) -> None:
        """Raise the looks that would obey a file which the line itself writes: it is not there yet when it is read."""
        written = [o.resource for o in self.findings.operations if o.kind is FS_WRITE]
        found: dict[str, str | None] = {}
        for index, match in self.looks:
            tool = match.obeys
            if tool not in found:
                found[tool] = next((p for p in written if may_load(tool, p)), None)
            path = found[tool]
            if path is not None:
                self.findings.worsen(
                    index, DANGEROUS, f"{match.name} may read its settings from {path}, which the command writes"
                )

    def _moved(self, sense: Sense, command: Command, frame: Frame) -> tuple[Sense, Command]:
        """Put a command where it works, after options such as `git -C`."""
        cwd, others, match = command.cwd, command.elsewhere, sense.found
        moves = [word for _, role, word in match.values if role == "cwd"]
        if not moves:
            return sense, command
        if len(moves) > _MOST_MOVES:
            self.findings.blur("the command changes directories too often to analyse")
            match = msgspec.structs.replace(match, values=match.values[:_MOST_MOVES])
        for word in moves[:_MOST_MOVES]:
            named = word if word.named_in is None or cwd is None else Word(f"{cwd}/{word.text}")
            located = locate(named, self.place, cwd)
            path = located.path
            if ".." in word.text.split("/") and located.target is not None:
                others = (*others, located.target)  # to a program, what lies above a link is above where that leads
            if UNKNOWN in path:
                # What find finds may lie deeper than in the folder that is named.
                deep = f"{path}/{UNKNOWN}" if FIND in frame.through else path
                cwd, others = None, (deep,) if word.chosen else ()
            else:
                cwd = path
        stays = cwd == command.cwd and others == command.elsewhere
        moved = command if stays else msgspec.structs.replace(command, cwd=cwd, elsewhere=others)
        return understand_moved(sense, match, moved, self.place), moved

    def _find(self, name: str, command: Command, frame: Frame) -> FlowTrace:
        expression, shown = understand_find(command)
        roots = expression.roots or (Word("."),)
        broad = any(is_broad(r, self.place, command.cwd) for r in roots)
        named = name_files(roots, command.folders) if broad else ""
        index = self._execution(command, frame, judge_find(name, expression, named, broad=broad), shown=shown)
        for cwd in dict.fromkeys((command.cwd, *command.elsewhere)):
            if cwd is not command.cwd and self.findings.full:
                break
            ground = OperationContext(self.place, cwd, index)
            walk = msgspec.structs.replace(ground, sweep=True, lists=True)
            for root in roots:
                self.findings.extend(role_effects("look", root, walk))
            for word in expression.files:
                self.findings.extend(role_effects("read", word, ground))
            for word in expression.writes:
                self.findings.extend(role_effects("write", word, ground))
            if expression.deletes:
                for root in roots:
                    self.findings.extend(delete(root, ground, expression.names, tested=expression.tested))
        trace = FlowTrace(index)
        begin = len(self.findings.operations)
        read_inners(self, find_openings(expression, command), command, frame, trace)
        if expression.commands and not expression.tested:
            found = self.findings.operations[begin:]
            ground = OperationContext(self.place, command.cwd, index)
            self.findings.extend(sweep_out(roots, found, ground))
        return trace

    def _execution(
        self,
        command: Command,
        frame: Frame,
        said: CodeJudgement,
        unseen: Sequence[Word] = (),
        *,
        opaque: bool = False,
        alone: Operation | None = None,
        shown: str = "",
    ) -> int:
        """Add a command; of its `unseen` words nobody knows what it does with them.

        `alone` is what it is by its words, `shown` how they are written, where that was found. Of what is by its words
        no secret it need not be looked up which credential it prints.
        """
        through = frame.through + command.through
        argv = tuple(map(_text, command.words)) if alone is None else alone.argv
        shows = find_revealed(argv) if alone is None or alone.secret else None
        if shows is not None:
            said = _told(said, f"{argv[0]} {shows}")
        elif alone is not None and said.tier is SAFE is alone.tier and not (opaque or unseen or through):
            return self.findings.add(alone)
        return self.findings.add(
            Operation(
                kind=COMMAND_EXECUTE,
                resource=alone.resource if alone is not None else shown or join_plain(argv) or quote(command.words),
                argv=argv,
                tier=said.tier,
                reason=said.reason,
                plain=() if alone is None else alone.plain,
                obeys="" if alone is None else alone.obeys,
                secret=shows is not None,
                opaque=opaque,
                mentions=mentioned_paths(unseen, self.place, command.cwd) if unseen else (),
                hosts=mentioned_hosts(unseen) if unseen else (),
                through=through,
                redirects=() if alone is None else alone.redirects,
                loads=() if alone is None else alone.loads,
                impact=said.impact or None,
                rollback=said.rollback or None,
            )
        )
