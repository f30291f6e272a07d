"""What the daemon counts, in the text that Prometheus reads."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assent.model import Decision

ANSWER_TIMES = (1.0, 5.0, 15.0, 60.0, 300.0, 1800.0)
_Sample = tuple[str, float]


class Histogram:
    """Counts values up to each bound."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count one value."""
        self.counts[sum(value > bound for bound in self.bounds)] += 1
        self.total += value

    def samples(self, name: str) -> Iterable[_Sample]:
        """Yield it as Prometheus has it: cumulative, then the sum and the count."""
        seen = 0
        for bound, count in zip((*map(_number, self.bounds), "+Inf"), self.counts, strict=True):
            seen += count
            yield f'{name}_bucket{{le="{bound}"}}', seen
        yield f"{name}_sum", self.total
        yield f"{name}_count", seen


class Metrics:
    """Everything that is counted since the start."""

    def __init__(self) -> None:
        self.decisions: Counter[tuple[str, str]] = Counter()
        self.decisions_of: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        """The same by whose they are, for people who see their own only."""
        self.refusals: Counter[int] = Counter()
        self.answers: Counter[str] = Counter()
        self.answers_of: dict[str, Counter[str]] = defaultdict(Counter)
        self.answer_time = Histogram(ANSWER_TIMES)
        self.dropped = 0
        self.reloads: Counter[str] = Counter()

    def count_decision(self, decision: Decision, user: str) -> None:
        """Count a decision by what it says and by how bad its call is."""
        what = decision.decision, decision.reading.tier.value
        self.decisions[what] += 1
        self.decisions_of[user][what] += 1

    def count_refusal(self, status: int) -> None:
        """Count a request that was not done."""
        self.refusals[status] += 1

    def count_answer(self, state: str, user: str, seconds: float) -> None:
        """Count how a question ended, and after how long."""
        self.answers[state] += 1
        self.answers_of[user][state] += 1
        self.answer_time.add(max(seconds, 0.0))

    def render(self, gauges: dict[str, tuple[str, float]]) -> str:
        """Write everything down; `gauges` are read off elsewhere, each with its help."""
        lines: list[str] = []

        def family(name: str, kind: str, means: str, samples: Iterable[_Sample]) -> None:
            lines.extend((f"# HELP {name} {means}", f"# TYPE {name} {kind}"))
            lines.extend(f"{sample} {_number(value)}" for sample, value in samples)

        decisions = [
            (f'assent_decisions_total{{decision="{decision}",tier="{tier}"}}', count)
            for (decision, tier), count in sorted(self.decisions.items())
        ]
        family("assent_decisions_total", "counter", "Decisions by outcome and tier.", decisions)
        refusals = [(f'assent_requests_refused_total{{status="{s}"}}', n) for s, n in sorted(self.refusals.items())]
        family("assent_requests_refused_total", "counter", "Requests that were not done, by status.", refusals)
        answers = [(f'assent_questions_total{{state="{s}"}}', n) for s, n in sorted(self.answers.items())]
        family("assent_questions_total", "counter", "Questions by how they ended.", answers)
        times = self.answer_time.samples("assent_answer_seconds")
        family("assent_answer_seconds", "histogram", "How long questions were open.", times)
        family(
            "assent_sockets_dropped_total",
            "counter",
            "WebSockets dropped for not reading.",
            [("assent_sockets_dropped_total", self.dropped)],
        )
        for name, (means, value) in gauges.items():
            family(name, "counter" if name.endswith("_total") else "gauge", means, [(name, value)])
        return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
