"""A language model as the judge of ``rankdev judge --model``: its options, asking it, and what that used."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.help import SharedOption
from rankdev.cli.terminal import write_line, write_notes
from rankdev.errors import counted

if TYPE_CHECKING:
    from rankdev.judging.chat import ChatJudge, Usage
    from rankdev.judging.items import Items

MODEL_OPTIONS = ("parallel", "budget", "both_orders", "budget_tokens")


def model_options(command: Any) -> Any:
    """Add the options of --model, which ``rankdev help models`` explains."""
    for option in (
        click.option("--budget-tokens", cls=SharedOption, type=int, help="With --model: maximum number of tokens."),
        click.option("--both-orders", cls=SharedOption, is_flag=True, help="With --model: ask in both orders."),
        click.option("--budget", cls=SharedOption, type=int, help="With --model: maximum number of questions."),
        click.option(
            "--parallel", cls=SharedOption, default=8, show_default=True, help="With --model: questions at once."
        ),
    ):
        command = option(command)
    return command


def ask_model(
    shown: Items,
    database: str,
    model: tuple[str, str],
    goal: dict[str, Any],
    *,
    parallel: int,
    budget: int | None,
    guidelines: str | None,
    **options: Any,
) -> None:
    """Ask a language model, and keep its answers in the database under its name."""
    from rankdev.judging.chat import ChatJudge
    from rankdev.judging.collect import collect
    from rankdev.judging.store import Store

    url, name = model
    options |= {"texts": shown.texts(), "query_texts": shown.query_text}
    judge = ChatJudge(url, model=name, instructions=guidelines, **options)
    Store(database).close()  # a database, whatever its name
    pool = shown.pool
    interrupted = None
    with _watched(judge):
        try:
            found = collect(judge, pool.grades or pool.items, budget=budget, file=database, parallel=parallel, **goal)
        except KeyboardInterrupt as interrupt:
            if not hasattr(interrupt, "collected"):
                raise
            interrupted, found = interrupt, interrupt.collected
    write_notes(found.remarks)
    write_line(f"{counted(found.asked, 'answer')} of {name} in {database}; {found.stopped}; {_used(judge.usage)}")
    if interrupted is not None:
        raise interrupted


@contextmanager
def _watched(judge: ChatJudge) -> Iterator[None]:
    """Show on a terminal what was used so far, twice a second."""
    done = Event()

    def show() -> None:
        while not done.wait(0.5):
            usage = judge.usage
            line = f"{counted(usage.answers, 'answer')}, {counted(usage.tokens, 'token')}"
            print(f"\r{line}", end=" ", file=sys.stderr, flush=True)

    watch = Thread(target=show, daemon=True)
    if sys.stderr.isatty():
        watch.start()
    try:
        yield
    finally:
        done.set()
        if watch.is_alive():
            watch.join()
            print(file=sys.stderr)


def _used(usage: Usage) -> str:
    """Summarise calls and tokens."""
    parts = [f"{counted(usage.calls, 'call')}, {counted(usage.tokens, 'token')}"]
    if usage.invalid:
        parts.append(f"{counted(usage.invalid, 'reply', 'was')} not valid")
    if usage.changed:
        parts.append(f"{counted(usage.changed, 'answer')} changed with the order")
    if usage.retried:
        parts.append(f"{counted(usage.retried, 'call', 'was')} made again")
    return "; ".join(parts)
