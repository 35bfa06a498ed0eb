"""The commands ``judge``, which collects preferences, and ``pool``, which collects what is to be judged."""

from __future__ import annotations

import gc
import sys
import webbrowser
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rankdev.cli import Part, argument, command, option, refuse_unused, shared
from rankdev.cli.from_function import json_or_text, named_values
from rankdev.cli.inputs import READING, chosen
from rankdev.cli.outputs import TABLE, encoded_table, file_option, working_progress, write_files
from rankdev.cli.terminal import write_line, write_notes
from rankdev.errors import DataError, Note, UsageError, counted, warn

if TYPE_CHECKING:
    from rankdev.judging.items import Items
    from rankdev.judging.server import JudgeServer
    from rankdev.judging.store import Store
    from rankdev.judging.strategies import Strategy


MODEL_OPTIONS = ("parallel", "budget", "both_orders", "temperature", "max_tokens", "fields")


@command(
    "judge",
    click.Argument(["items"], metavar="ITEMS"),
    option("--db", "database", metavar="FILE", required=True, help="SQLite file for the judgments."),
    option("--repeats", type=int, help="Answers per pair, at most. Default 2; --check 1."),
    option("--error", type=float, help="Accepted fraction of errors. Default .05."),
    option("--grades", metavar="SCALE", help="Also grades: 0-3, or bad,fair,good."),
    option("--query-texts", metavar="FILE", help="A table with query and text, description, ..."),
    option("--host", default="127.0.0.1", show_default=True, help="0.0.0.0 serves the network."),
    option("--port", default=0, help="Port. Default: the one used last."),
    option("--no-browser", is_flag=True, help="Do not open the page."),
    option("--model", nargs=2, metavar="URL NAME", help="Ask a language model: rankdev help models."),
    option("--check", metavar="NAME", help="Ask people about pairs that this model judged."),
    shared("--guidelines", metavar="FILE", help="What makes an item better."),
    shared("--public-url", metavar="URL", help="Address of a proxy in front of it."),
    shared("--parallel", default=8, show_default=True, help="With --model: questions at once."),
    shared("--budget", type=int, help="With --model: maximum number of questions."),
    shared("--both-orders", is_flag=True, help="With --model: ask in both orders."),
    shared("--temperature", type=float, help="With --model: randomness of replies."),
    shared("--max-tokens", type=int, help="With --model: longest reply."),
    shared(
        "--option",
        "fields",
        metavar="NAME=VALUE",
        multiple=True,
        callback=named_values(json_or_text, "NAME=VALUE, such as top_p=0.5"),
        help="With --model: a field of the requests; repeat.",
    ),
    shared("--judges", metavar="NAME,...", help="A link for each, and none for all."),
    shared("--gold", metavar="FILE", help="Pairs whose answer is known."),
    example="rankdev judge pool.jsonl --db judgments.sqlite",
)
def judge_command(
    items: str,
    database: str,
    model: tuple[str, str] | None,
    guidelines: str | None,
    query_texts: str | None,
    repeats: int | None,
    error: float | None,
    **options: Any,
) -> None:
    """Ask assessors in a browser, or a model, which of two items is better.

    ITEMS: JSONL, CSV or Parquet with the columns query and item, and optionally title, text, url, image (a file or
    an address), grade and query_text. Then: rankdev refs preferences judgments.sqlite -o refs.jsonl
    """
    from rankdev.judging.items import read_items
    from rankdev.judging.page import read_guidelines

    guide = None if guidelines is None else read_guidelines(guidelines)
    rule = chosen(repeats=repeats, error=error)
    asked = {name: options.pop(name) for name in MODEL_OPTIONS}
    if model is None:
        refuse_unused(*MODEL_OPTIONS, needs="model")
        ask_people(read_items(items, query_texts), database, rule, guide, **options)
    else:
        refuse_unused(*options, beside="model")
        ask_model(read_items(items, query_texts), database, model, rule, guide, **asked)


def ask_people(
    shown: Items,
    database: str,
    rule: dict[str, Any],
    guidelines: str | None,
    *,
    host: str,
    port: int,
    public_url: str | None,
    no_browser: bool,
    check: str | None,
    grades: str | None,
    judges: str | None,
    gold: str | None,
) -> None:
    """Serve the page, with the links of last time, and on its port where it is free."""
    from rankdev.judging.links import Tokens, origin_of
    from rankdev.judging.quality import read_gold
    from rankdev.judging.server import JudgeServer
    from rankdev.judging.session import Session
    from rankdev.judging.store import Store
    from rankdev.judging.strategies import CheckStrategy, GradeStrategy, OrderStrategy, Scale

    if public_url is not None:
        origin_of(public_url)  # refuses what is none
    scale = None if grades is None else Scale.parse(grades)
    names = [] if judges is None else [name.strip() for name in judges.split(",")]
    if not all(names):
        raise UsageError("bad-value", name="--judges", value=judges, expected="names with commas, such as ann,bob")
    for name in names:
        if names.count(name) > 1:
            raise UsageError("given-twice", name=name)
    known = None if gold is None else read_gold(gold, shown.pool)
    often = {name: rule[name] for name in ("repeats",) if name in rule}
    if check is None:
        strategy: Strategy = OrderStrategy(shown.pool, **rule)
        store = Store(database)
    else:
        refuse_unused("error", "gold", beside="check")
        store = Store(database)
        strategy = CheckStrategy(shown.pool, check, store.given(), **often)
    try:
        session = Session(shown, store, strategy, checked=check, gold=known)
        if session.unmatched:
            write_notes([Note("other-items", count=session.unmatched, path=database)])
        tokens = Tokens.kept(store)
        for name in names:
            session.check_person(name)
        if names:
            tokens = replace(tokens.with_links(names), common=False)
            tokens.keep(store)
        start = partial(
            JudgeServer,
            session,
            host,
            tokens=tokens,
            public_url=public_url,
            guidelines=guidelines,
            grading=None if scale is None else Session(shown, store, GradeStrategy(shown.pool, scale, **often)),
            warn=write_line,
        )
        server = _on_port(start, host, port, store)
    except BaseException:
        store.close()
        raise
    if server.readable:
        warn("no-encryption")
    _serve(server, browser=not no_browser)


def _on_port(start: Callable[[int], JudgeServer], host: str, port: int, store: Store) -> JudgeServer:
    """Start a server on a port, or on that of last time if it is free."""
    before = store.remembered().get("port")
    before = before if isinstance(before, int) and 0 < before < 1 << 16 else 0
    try:
        try:
            server = start(port or before)
        except OSError:
            if port or not before:
                raise
            server = start(0)
            write_notes([Note("new-port", port=before)])
    except (OSError, OverflowError) as error:
        raise DataError("no-server", address=f"{host}:{port}", why=str(error)) from None
    store.remember({**store.remembered(), "port": server.server_address[1]})
    return server


def _serve(server: JudgeServer, *, browser: bool) -> None:
    """Serve until it is stopped, and note what was collected."""
    store, owner = server.session.store, server.link(server.tokens.owner)
    try:
        tokens = server.tokens
        personal = [(f"judge {name}", secret) for name, secret in tokens.personal.items() if secret]
        for name, secret in [*([("judges", tokens.judge)] if tokens.common else []), *personal]:
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
        try:
            count = len(store.answers())
        finally:
            store.close()
        write_line(f"{counted(count, 'answer', 'is')} in {store.path}")


@command(
    "pool",
    argument("runs", nargs=-1, required=True, metavar="RUN..."),
    option("--depth", default=10, show_default=True, help="Items taken from each run."),
    option("--texts", metavar="FILE", help="A table with item and title, text, url, image, ..."),
    Part("read", [one for one in READING if one.name != "ranks"], chosen),
    file_option("-o", "--output", check=TABLE, default="items.jsonl", show_default=True, help="Write the items here."),
    example="rankdev pool nearest.run popular.run --depth 5 --texts texts.jsonl -o items.jsonl",
)
def pool_command(runs: tuple[str, ...], depth: int, texts: str | None, read: dict[str, Any], output: str) -> None:
    """Pool the top items of each query from runs, for rankdev judge.

    Assessors see the texts in --texts. If it has a column query, each row is about an item of that query, and may have
    a query_text. Then: rankdev judge items.jsonl --db judgments.sqlite
    """
    from rankdev.judging.items import pool

    items = pool(dict(zip(runs, runs, strict=True)), depth=depth, texts=texts, **read)
    write_files({output: encoded_table(items, output)})
    write_line(f"{counted(len(items), 'item')} of {counted(items['query'].n_unique(), 'query')}")


def ask_model(
    shown: Items,
    database: str,
    model: tuple[str, str],
    rule: dict[str, Any],
    guidelines: str | None,
    *,
    parallel: int,
    budget: int | None,
    both_orders: bool,
    fields: dict[str, Any] | None,
    **more: float | None,
) -> None:
    """Ask a language model, and keep its answers in the database under its name."""
    from rankdev.judging.chat import ChatJudge
    from rankdev.judging.collect import collect
    from rankdev.judging.store import Store

    url, name = model
    judge = ChatJudge(
        url,
        model=name,
        texts=shown.texts(),
        query_texts=shown.query_text,
        instructions=guidelines,
        both_orders=both_orders,
        options=chosen(**more) | (fields or {}),
    )
    Store(database).close()  # a database, whatever its name
    pool = shown.pool
    interrupted = None
    with working_progress("asking") as progress:

        def asked(query: str, a: str, b: str) -> Any:
            answer = judge(query, a, b)
            if progress is not None:
                progress(judge.usage.answers, budget or 0, counted(judge.usage.tokens, "token"))
            return answer

        asked.__name__ = name
        try:
            found = collect(asked, pool.grades or pool.items, budget=budget, file=database, parallel=parallel, **rule)
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
