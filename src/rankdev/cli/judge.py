"""The commands ``judge``, which collects preferences, and ``pool``, which collects what is to be judged."""

from __future__ import annotations

import gc
import json
import os
import sys
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import click

from rankdev.cli import Part, argument, command, option, refuse_unused, shared
from rankdev.cli.inputs import READING, chosen, each_once
from rankdev.cli.outputs import TABLE, encoded_table, file_option, write_file
from rankdev.cli.terminal import write_line, write_notes
from rankdev.errors import DataError, Note, UsageError, counted, warn

if TYPE_CHECKING:
    from rankdev.judging.chat import ChatJudge, Usage
    from rankdev.judging.items import Items
    from rankdev.judging.server import JudgeServer
    from rankdev.judging.session import Session
    from rankdev.judging.strategies import Strategy


PAGE_OPTIONS = ("check", "host", "port", "public_url", "no_browser", "grades")
TEAM_OPTIONS = ("judges", "gold")
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
        "--option", "fields", metavar="NAME=VALUE", multiple=True, help="With --model: a field of the requests; repeat."
    ),
    shared("--judges", metavar="NAME,...", help="A link for each, and none for all."),
    shared("--gold", metavar="FILE", help="Pairs whose answer is known."),
    example="rankdev judge pool.jsonl --db judgments.sqlite",
)
def judge_command(
    items: str,
    database: str,
    host: str,
    port: int,
    public_url: str | None,
    no_browser: bool,
    model: tuple[str, str] | None,
    check: str | None,
    guidelines: str | None,
    grades: str | None,
    query_texts: str | None,
    judges: str | None,
    gold: str | None,
    repeats: int | None,
    error: float | None,
    **options: Any,
) -> None:
    """Ask assessors in a browser, or a model, which of two items is better.

    ITEMS: JSONL, CSV or Parquet with the columns query and item, and optionally title, text, url, image (a file or
    an address), grade and query_text. Then: rankdev refs preferences judgments.sqlite -o refs.jsonl
    """
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # small fits between two clicks: more threads only slow each other down
    from rankdev.judging.items import read_items
    from rankdev.judging.links import check_public_url
    from rankdev.judging.page import read_guidelines
    from rankdev.judging.quality import read_gold
    from rankdev.judging.session import Session
    from rankdev.judging.store import Store
    from rankdev.judging.strategies import CheckStrategy, GradeStrategy, OrderStrategy, Rule, Scale

    if public_url is not None:
        check_public_url(public_url)
    guide = None if guidelines is None else read_guidelines(guidelines)
    names = _names(judges)
    scale = None if grades is None else Scale.parse(grades)
    shown = read_items(items, query_texts)
    asked = {name: options.pop(name) for name in MODEL_OPTIONS}
    often: dict[str, Any] = {} if repeats is None else {"repeats": repeats}
    accepted: dict[str, Any] = {} if error is None else {"error": error}
    if model is not None:
        refuse_unused(*PAGE_OPTIONS, *TEAM_OPTIONS, beside="model")
        ask_model(shown, database, model, often | accepted, guidelines=guide, **asked)
        return
    refuse_unused(*MODEL_OPTIONS, needs="model")
    known = None if gold is None else read_gold(gold, shown.pool)
    if check is not None:
        refuse_unused("error", "gold", beside="check")
        store = Store(database)
        strategy: Strategy = CheckStrategy(shown.pool, check, store.given(), **often)
    else:
        strategy = OrderStrategy(shown.pool, Rule(**accepted), **often)
        store = Store(database)
    session = Session(shown, store, strategy, checked=check, gold=known)
    grading = None if scale is None else Session(shown, store, GradeStrategy(shown.pool, scale, **often))
    if session.unmatched:
        write_notes([Note("other-items", count=session.unmatched, path=database)])
    try:
        server = _started(session, host, port, public_url, guide, grading, names)
    except BaseException:
        store.close()
        raise
    _serve(server, browser=not no_browser)


def _names(text: str | None) -> list[str]:
    """Read the names of judges; refuse one that is given twice."""
    names = [] if text is None else [name.strip() for name in text.split(",")]
    if not all(names):
        raise UsageError("bad-value", name="--judges", value=text, expected="names with commas, such as ann,bob")
    return [*each_once((name, None) for name in names)]


def _started(
    session: Session,
    host: str,
    port: int,
    public_url: str | None,
    guidelines: str | None,
    grading: Session | None,
    names: Sequence[str],
) -> JudgeServer:
    """Start a server with the links of last time, and on its port where it is free."""
    from rankdev.judging.links import Tokens
    from rankdev.judging.server import JudgeServer

    store = session.store
    tokens = Tokens.kept(store)
    for name in names:
        session.check_person(name)
    if names:
        tokens = replace(tokens.with_links(names), common=False)
        tokens.keep(store)
    before = store.remembered().get("port")
    before = before if isinstance(before, int) and 0 < before < 1 << 16 else 0

    def start(number: int) -> JudgeServer:
        return JudgeServer(
            session,
            host,
            number,
            tokens,
            public_url=public_url,
            guidelines=guidelines,
            grading=grading,
            warn=write_line,
        )

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
    if server.readable:
        warn("no-encryption")
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
    write_file(output, encoded_table(items, output))
    write_line(f"{counted(len(items), 'item')} of {counted(items['query'].n_unique(), 'query')}")


def ask_model(
    shown: Items,
    database: str,
    model: tuple[str, str],
    rule: dict[str, Any],
    *,
    parallel: int,
    budget: int | None,
    guidelines: str | None,
    both_orders: bool,
    fields: Sequence[str],
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
        options={name: value for name, value in more.items() if value is not None} | _fields(fields),
    )
    Store(database).close()  # a database, whatever its name
    pool = shown.pool
    interrupted = None
    with _watched(judge):
        try:
            found = collect(judge, pool.grades or pool.items, budget=budget, file=database, parallel=parallel, **rule)
        except KeyboardInterrupt as interrupt:
            if not hasattr(interrupt, "collected"):
                raise
            interrupted, found = interrupt, interrupt.collected
    write_notes(found.remarks)
    write_line(f"{counted(found.asked, 'answer')} of {name} in {database}; {found.stopped}; {_used(judge.usage)}")
    if interrupted is not None:
        raise interrupted


def _fields(given: Sequence[str]) -> dict[str, Any]:
    """Read fields of requests, each a name and a value: JSON, or else text."""
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError("bad-value", name="--option", value=text, expected="NAME=VALUE, such as top_p=0.5")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


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
