"""Language models as judges, by an OpenAI-compatible chat API."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

import polars as pl

from rankdev._common.checks import check_flag, check_number, check_seed, check_whole
from rankdev._common.ids import as_id
from rankdev.errors import UsageError, shown
from rankdev.judging._judges import CommentingJudge, NoAnswerError, Reply
from rankdev.judging._prompts import FORMAT, INSTRUCTIONS, ONCE_MORE, Texts, content_of, parsed, probability_of
from rankdev.judging.budget import Purse, Usage, prices

DEFAULTS = {"temperature": 0, "max_tokens": 50}
ALTERNATIVES = 10  # tokens whose probability is asked for


class ChatJudge(CommentingJudge):
    """A language model that compares two items, for :func:`rankdev.collect`.

    Call it with a query and two items: it returns one of the two, or None for equally good. The model sees the items in
    the order given. ``collect`` draws that order by its seed, and keeps it with the answer. Any number of threads may
    call it at once.

    Parameters
    ----------
    url : str
        Address of an OpenAI-compatible API, such as https://api.example.com/v1.
    model : str
        Name of the model.
    texts : path, table or dict of str to str, optional
        What the model sees of the items, as in :func:`rankdev.pool`: ``{item: text}``, or a table with the column item
        (perhaps query) and title, text or url. Default: their ids.
    query_texts : dict of str to str, optional
        What the model sees of the queries. Default: the column query_text of ``texts``, or their ids.
    instructions : str, optional
        What makes an item better. How to reply is added.
    key : str, optional
        Key of the API. Default: the environment variable RANKDEV_API_KEY. It is not shown, logged or pickled.
    both_orders : bool, default False
        Ask each question in both orders. An item is better where both replies name it; otherwise the two count as
        equally good.
    logprobs : bool, default False
        Ask for the probabilities of the words, which are kept with the answers (``p_first``) and not used otherwise.
    options : dict, optional
        More fields of the requests, such as temperature (default 0) and max_tokens (50); None leaves a field out.
    attempts : int, default 3
        How often a question is asked until there is a valid reply; then NoAnswerError is raised.
    retries : int, default 5
        How often a call is made again if the server is busy or the connection fails.
    wait : float, default 1
        Seconds before the first retry; doubled each time, at most 60, shortened at random by up to half. A Retry-After
        of the server is respected as well.
    timeout : float, default 60
        Seconds to wait for a reply.
    price : tuple of float, optional
        Price of a million tokens sent, and of a million received.
    budget_tokens : int, optional
        Largest number of tokens; BudgetSpentError is raised before a call that is likely to exceed it.
    budget_cost : float, optional
        Largest cost; needs ``price``.
    name : str, optional
        Name of the judge, under which a database keeps its answers: another one for other instructions. Default: the
        model's.
    seed : int, default 0
        Seed of the waiting times, and of the markers that enclose items.

    See Also
    --------
    rankdev.collect : Asks a judge.

    Examples
    --------
    >>> judge = ChatJudge("https://api.example.com/v1", model="small", texts={"d1": "Bridges", "d2": "Bread"}, key="k")
    >>> judge
    ChatJudge('https://api.example.com/v1/chat/completions', model='small')
    >>> judge.usage.calls
    0
    """

    def __init__(
        self,
        url: str,
        *,
        model: str,
        texts: Any = None,
        query_texts: Mapping[str, str] | None = None,
        instructions: str | None = None,
        key: str | None = None,
        both_orders: bool = False,
        logprobs: bool = False,
        options: Mapping[str, Any] | None = None,
        attempts: int = 3,
        retries: int = 5,
        wait: float = 1.0,
        timeout: float = 60.0,
        price: Sequence[float] | None = None,
        budget_tokens: int | None = None,
        budget_cost: float | None = None,
        name: str | None = None,
        seed: int = 0,
    ) -> None:
        from rankdev.judging._endpoint import endpoint  # loads what speaks HTTP

        instructions = INSTRUCTIONS if instructions is None else instructions
        name = model if name is None else name
        for parameter, value in {"model": model, "instructions": instructions, "name": name}.items():
            if not isinstance(value, str) or not value.strip():
                raise UsageError(f"{parameter} must be a text; got {shown(value)}")
        if options is not None and not isinstance(options, Mapping):
            raise UsageError(f"options must be a dict of fields; got {shown(options)}")
        self.model, self.name = model, name
        self.both_orders, self.logprobs = check_flag("both_orders", both_orders), check_flag("logprobs", logprobs)
        self.attempts = check_whole("attempts", attempts, 1)
        self.seed = check_seed(seed)
        self._instructions = instructions.strip() + FORMAT
        self._options = {key: value for key, value in {**DEFAULTS, **(options or {})}.items() if value is not None}
        if self.logprobs:
            self._options |= {"logprobs": True, "top_logprobs": ALTERNATIVES}
        self._texts = Texts.of(texts, query_texts)
        self._purse = Purse(
            prices(price),
            None if budget_tokens is None else check_whole("budget_tokens", budget_tokens, 1),
            None if budget_cost is None else check_number("budget_cost", budget_cost, 0),
        )
        self._endpoint = endpoint(
            url,
            "/chat/completions",
            key,
            timeout=check_number("timeout", timeout, 0, 3600),
            retries=check_whole("retries", retries, 0),
            wait=check_number("wait", wait, 0, ends=True),
            seed=self.seed,
        )
        self._counts = dict.fromkeys(("answers", "skipped", "invalid", "changed"), 0)
        self._log: list[tuple[Any, ...]] = []
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"ChatJudge({self._endpoint.url!r}, model={self.model!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update({**state, "_lock": Lock()})

    def reply(self, query: Any, a: Any, b: Any) -> Reply:
        """Ask which of two items is better; return the answer with what is kept about it.

        Parameters
        ----------
        query : object
            The query.
        a, b : object
            The items, ``a`` shown first.

        Returns
        -------
        Reply
            The answer: ``a``, ``b``, or None for equally good; and a comment.
        """
        try:
            said, probability = self._ask(query, a, b)
            notes = []
            if self.both_orders:
                other, reverse = self._ask(query, b, a)
                other = {"A": "B", "B": "A"}.get(other, other)
                known = probability is not None and reverse is not None
                probability = (probability + 1 - reverse) / 2 if known else None  # type: ignore[operator]
                if other != said:
                    notes.append(f"both orders: {said} and {other}")
                    self._count("changed")
                    said = "equal"
        except NoAnswerError as error:
            self._count("skipped")
            self._note(query, a, b, None, None, str(error))
            raise
        self._count("answers")
        if probability is not None:
            notes.append(f"p_first={probability:.3f}")
        self._note(query, a, b, said, probability, "; ".join(notes))
        return Reply({"A": a, "B": b}.get(said), "; ".join(notes))

    @property
    def usage(self) -> Usage:
        """Calls, tokens and cost so far."""
        with self._lock:
            return Usage(**self._purse.spent(), **self._counts, retried=self._endpoint.retried)

    def to_polars(self) -> pl.DataFrame:
        """Tabulate the questions.

        Returns
        -------
        polars.DataFrame
            One row per question, in the order answered: query, first, second, winner (first, second, tie; null:
            skipped), p_first (the probability of the first by the model's own words, half of ties included; null where
            the server gives none), comment.

        Examples
        --------
        >>> ChatJudge("http://127.0.0.1:8000/v1", model="small", key="").to_polars().height
        0
        """
        names = dict.fromkeys(("query", "first", "second", "winner", "p_first", "comment"), pl.String)
        with self._lock:
            return pl.DataFrame(self._log, schema=names | {"p_first": pl.Float64}, orient="row")

    def _ask(self, query: Any, a: Any, b: Any) -> tuple[str, float | None]:
        """Ask in one order: A, B or equal, and the probability of A."""
        asked, *sides = self._texts.of_question(query, a, b)
        marker = hashlib.sha256("\0".join([str(self.seed), asked, *sides]).encode(errors="replace")).hexdigest()[:12]
        parts = [("query", asked), *zip(("item A", "item B"), sides, strict=True)]
        question = "\n\n".join(f"[{name} {marker}]\n{text}\n[end of {name} {marker}]" for name, text in parts)
        messages = [{"role": "system", "content": self._instructions}, {"role": "user", "content": question}]
        why = ""
        for attempt in range(self.attempts):
            found = self._call(messages, f"{marker} {attempt}")
            content, why = content_of(found)
            if not why:
                said, why = parsed(content)
                if said:
                    return said, probability_of(found) if self.logprobs else None
            self._count("invalid")
            messages = [*messages[:2], {"role": "assistant", "content": content or "…"}]
            messages.append({"role": "user", "content": ONCE_MORE})
        times = f" {self.attempts} times, at last" if self.attempts > 1 else ""
        raise NoAnswerError(self._endpoint.key.removed(f"the model gave no valid answer{times}: {why}"))

    def _call(self, messages: list[dict[str, str]], label: str) -> dict[str, Any]:
        from rankdev.judging._endpoint import RejectedError

        with self._lock:
            self._purse.reserve()
        tokens = None
        try:
            found = self._endpoint.post({"model": self.model, "messages": messages, **self._options}, label)
            tokens = self._purse.tokens(found)
        except RejectedError as error:
            raise NoAnswerError(str(error)) from None
        finally:
            with self._lock:
                self._purse.settle(tokens)
        return found

    def _count(self, what: str) -> None:
        with self._lock:
            self._counts[what] += 1

    def _note(self, query: Any, a: Any, b: Any, said: str | None, p: float | None, comment: str) -> None:
        winner = {"A": "first", "B": "second", "equal": "tie"}.get(said or "")
        with self._lock:
            self._log.append((as_id(query), as_id(a), as_id(b), winner, p, comment))
