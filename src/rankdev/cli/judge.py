"""The commands ``judge``, which collects preferences, and ``pool``, which collects what is to be judged."""

from __future__ import annotations

import gc
import sys
import webbrowser
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

import rankdev as rd
from rankdev.cli import OptionGroup, argument, command, option, refuse_unused, shared
from rankdev.cli.from_function import json_or_text, named_values
from rankdev.cli.inputs import READING, chosen
from rankdev.cli.outputs import TABLE, file_option, working_progress, write_files
from rankdev.cli.terminal import write_line, write_notes, write_summary
from rankdev.errors import DataError, Note, UsageError, counted, warn

if TYPE_CHECKING:
    from rankdev.judging.items import Items
    from rankdev.judging.server import JudgeServer
    from rankdev.judging.store import Store

PEOPLE = OptionGroup(
    "asked",
    [
        option("--grades", metavar="SCALE", help="Also grades: 0-3, or bad,fair,good."),
        option("--host", default="127.0.0.1", show_default=True, help="0.0.0.0 serves the network."),
        option("--port", default=0, help="Port. Default: the one used last."),
        option("--no-browser", is_flag=True, help="Do not open the page."),
        option("--check", metavar="NAME", help="Ask people about pairs that this model judged."),
        shared("--public-url", metavar="URL", help="Address of a proxy in front of it."),
        shared("--judges", metavar="NAME,...", help="A link for each, and none for all."),
        shared("--gold", metavar="FILE", help="Pairs whose answer is known."),
    ],
    SimpleNamespace,
)
MODEL = OptionGroup(
    "sent",
    [
        shared("--parallel", default=8, show_default=True, help="With --model: questions at once."),
        shared("--budget", type=int, help="With --model: maximum number of questions."),
        shared("--both-orders", is_flag=True, help="With --model: ask in both orders."),
        shared(
            "--option",
            "fields",
            metavar="NAME=VALUE",
            multiple=True,
            callback=named_values(json_or_text, "NAME=VALUE, such as temperature=0"),
            help="With --model: a field of the requests; repeat.",
        ),
    ],
    SimpleNamespace,
)


@command(
    "judge",
    click.Argument(["items"], metavar="ITEMS"),
    option("--db", "database", metavar="FILE", required=True, help="SQLite file for the judgments."),
    OptionGroup(
        "rule",
        [
            option("--repeats", type=int, help="Answers per pair, at most. Default 2; --check 1."),
            option("--error", type=float, help="Accepted fraction of errors. Default .05."),
        ],
        chosen,
    ),
    option("--query-texts", metavar="FILE", help="A table with query and text, description, ..."),
    PEOPLE,
    option("--model", nargs=2, metavar="URL NAME", help="Ask a language model: rankdev help models."),
    shared("--guidelines", metavar="FILE", help="What makes an item better."),
    MODEL,
    example="rankdev judge pool.jsonl --db judgments.sqlite",
)
def judge_command(
    items: str,
    database: str,
    query_texts: str | None,
    model: tuple[str, str] | None,
    guidelines: str | None,
    **given: Any,
) -> None:
    """Ask assessors in a browser, or a model, which of two items is better.

    ITEMS: JSONL, CSV or Parquet with the columns query and item, and optionally title, text, url, image (a file or
    an address), grade and query_text. Then: rankdev refs preferences judgments.sqlite -o refs.jsonl
    """
    from rankdev.judging.items import read_items
    from rankdev.judging.page import read_guidelines

    guide = None if guidelines is None else read_guidelines(guidelines)
    if model is None:
        refuse_unused(*_names(MODEL), needs="model")
        ask_people(read_items(items, query_texts), database, guide, given["rule"], given["asked"])
    else:
        refuse_unused(*_names(PEOPLE), beside="model")
        ask_model(read_items(items, query_texts), database, guide, given["rule"], model, given["sent"])


def _names(part: OptionGroup) -> list[str]:
    return [str(one.name) for one in part.params]


def ask_people(shown: Items, database: str, guide: str | None, rule: dict[str, Any], asked: SimpleNamespace) -> None:
    """Serve the page, with the links of last time, and on its port where it is free."""
    from rankdev.judging.links import Addresses, Tokens
    from rankdev.judging.quality import read_gold
    from rankdev.judging.server import JudgeServer
    from rankdev.judging.session import Session
    from rankdev.judging.store import Store
    from rankdev.judging.strategies import CheckStrategy, GradeStrategy, OrderStrategy, Scale

    addresses = Addresses(asked.host, asked.public_url)
    scale = None if asked.grades is None else Scale.parse(asked.grades)
    names = [] if asked.judges is None else [name.strip() for name in asked.judges.split(",")]
    if not all(names) or len({*names}) < len(names):
        expected = "different names with commas, such as ann,bob"
        raise UsageError("bad-value", name="--judges", value=asked.judges, expected=expected)
    gold = None if asked.gold is None else read_gold(asked.gold, shown.pool)
    if asked.check is not None:
        refuse_unused("error", "gold", beside="check")
    order = None if asked.check is not None else OrderStrategy(shown.pool, **rule)
    with closing(Store(database)) as store:
        strategy = order or CheckStrategy(shown.pool, asked.check, store.given(), **rule)
        session = Session(shown, store, strategy, checked=asked.check, gold=gold)
        if session.unmatched:
            write_notes([Note("other-items", count=session.unmatched, path=database)])
        for name in names:
            session.check_person(name)
        tokens = Tokens.kept(store)
        if names:
            tokens = replace(tokens.with_links(names), common=False)
            tokens.keep(store)
        rule.pop("error", None)
        grading = None if scale is None else Session(shown, store, GradeStrategy(shown.pool, scale, **rule))
        given: dict[str, Any] = {"tokens": tokens, "guidelines": guide, "grading": grading, "warn": write_line}
        start = partial(JudgeServer, session, addresses, **given)
        server = _on_port(start, asked.host, asked.port, store)
        if server.readable:
            warn("no-encryption")
        _serve(server, browser=not asked.no_browser)


def _on_port(start: Callable[[int], JudgeServer], host: str, port: int, store: Store) -> JudgeServer:
    """Start a server on a port, or on that of last time if it is free."""
    before = store.remembered().get("port")
    for number in (port,) if port else (before if isinstance(before, int) else 0, 0):
        try:
            server = start(number)
            break
        except (OSError, OverflowError) as error:
            if number in (0, port):
                raise DataError("no-server", address=f"{host}:{port}", why=str(error)) from None
            write_notes([Note("new-port", port=number)])
    store.remember(port=server.server_address[1])
    return server


def _serve(server: JudgeServer, *, browser: bool) -> None:
    """Serve until it is stopped, and note what was collected."""
    tokens, owner, store = server.tokens, server.link(server.tokens.owner), server.session.store
    judges = {"judges": tokens.judge if tokens.common else "", **{f"judge {n}": s for n, s in tokens.personal.items()}}
    try:
        for name, secret in judges.items():
            if secret:
                click.echo(f"{f'{name}:':<7} {server.link(secret)}")
        click.echo(f"owner:  {owner}")
        sys.stdout.flush()
        if browser:
            webbrowser.open(owner)
        gc.freeze()  # searching all items for garbage again and again would delay answers
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
        write_line(f"{counted(len(store.answers()), 'answer', 'is')} in {store.path}")


def ask_model(
    shown: Items, database: str, guide: str | None, rule: dict[str, Any], model: tuple[str, str], sent: SimpleNamespace
) -> None:
    """Ask a language model, and keep its answers in the database under its name."""
    from rankdev.judging.chat import ChatJudge

    url, name = model
    what: dict[str, Any] = {"texts": shown.texts(), "query_texts": shown.query_text, "instructions": guide}
    judge = ChatJudge(url, model=name, both_orders=sent.both_orders, options=sent.fields, **what)
    interrupted = None
    kept: dict[str, Any] = {"file": database, "budget": sent.budget, "parallel": sent.parallel}
    with working_progress("asking") as progress:
        try:
            found = rd.collect(judge, shown.pool.grades or shown.pool.items, progress=progress, **kept, **rule)
        except KeyboardInterrupt as interrupt:
            if not hasattr(interrupt, "collected"):
                raise
            interrupted, found = interrupt, interrupt.collected
    write_notes(found.remarks)
    used = judge.usage
    facts = [
        f"{counted(found.asked, 'answer')} of {name} in {database}",
        found.stopped,
        f"{counted(used.calls, 'call')}, {counted(used.tokens, 'token')}",
        *([f"{counted(used.invalid, 'reply', 'was')} not valid"] if used.invalid else []),
        *([f"{counted(used.changed, 'answer')} changed with the order"] if used.changed else []),
        *([f"{counted(used.retried, 'call', 'was')} made again"] if used.retried else []),
    ]
    write_line("; ".join(facts))
    if interrupted is not None:
        raise interrupted


@command(
    "pool",
    argument("runs", nargs=-1, required=True, metavar="RUN..."),
    option("--depth", default=10, show_default=True, help="Items taken from each run."),
    option("--texts", metavar="FILE", help="A table with item and title, text, url, image, ..."),
    OptionGroup("read", [one for one in READING if one.name != "ranks"], chosen),
    file_option("-o", "--output", check=TABLE, default="items.jsonl", show_default=True, help="Write the items here."),
    example="rankdev pool nearest.run popular.run --depth 5 --texts texts.jsonl -o items.jsonl",
)
def pool_command(runs: tuple[str, ...], depth: int, texts: str | None, read: dict[str, Any], output: str) -> None:
    """Pool the top items of each query from runs, for rankdev judge.

    Assessors see the texts in --texts. If it has a column query, each row is about an item of that query, and may have
    a query_text. Then: rankdev judge items.jsonl --db judgments.sqlite
    """
    items = rd.pool(dict(zip(runs, runs, strict=True)), depth=depth, texts=texts, **read)
    write_files({output: items})
    write_summary(f"{counted(len(items), 'item')} of {counted(items['query'].n_unique(), 'query')}.", output)
