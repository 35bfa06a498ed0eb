"""Language models as judges, by an OpenAI-compatible chat API."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from rankdev._common.checks import check_flag, check_number, check_seed, check_whole
from rankdev.errors import DataError, Note, UsageError
from rankdev.judging._asking import BudgetSpentError, NoAnswerError, Reply
from rankdev.judging._prompts import FORMAT, INSTRUCTIONS, ONCE_MORE, Texts, content_of, parsed

DEFAULTS = {"temperature": 0, "max_tokens": 50}


@dataclass
class Usage:
    """What a :class:`ChatJudge` has used so far.

    Attributes
    ----------
    calls : int
        Replies of the server.
    prompt_tokens, completion_tokens : int
        Tokens sent and received, as the server counts them.
    answers : int
        Questions answered.
    skipped : int
        Questions without a valid answer.
    invalid : int
        Replies that were none of A, B and equal.
    retried : int
        Calls made again because the server was busy or the connection failed.
    changed : int
        Questions whose answer changed with the order of the items, where both orders are asked.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    answers: int = 0
    skipped: int = 0
    invalid: int = 0
    retried: int = 0
    changed: int = 0

    @property
    def tokens(self) -> int:
        """Tokens sent and received."""
        return self.prompt_tokens + self.completion_tokens


class ChatJudge:
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
    budget_tokens : int, optional
        Largest number of tokens; BudgetSpentError is raised before a call that is likely to exceed it.
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
        options: Mapping[str, Any] | None = None,
        attempts: int = 3,
        retries: int = 5,
        wait: float = 1.0,
        timeout: float = 60.0,
        budget_tokens: int | None = None,
        name: str | None = None,
        seed: int = 0,
    ) -> None:
        from rankdev.judging._endpoint import endpoint  # loads what speaks HTTP

        instructions = INSTRUCTIONS if instructions is None else instructions
        name = model if name is None else name
        for parameter, value in {"model": model, "instructions": instructions, "name": name}.items():
            if not isinstance(value, str) or not value.strip():
                raise UsageError("bad-value", name=parameter, value=value, expected="a text")
        if options is not None and not isinstance(options, Mapping):
            raise UsageError("bad-value", name="options", value=options, expected="a dict of fields")
        self.model, self.name = model, name
        self.both_orders = check_flag("both_orders", both_orders)
        self.attempts = check_whole("attempts", attempts, 1)
        self.seed = check_seed(seed)
        self._instructions = instructions.strip() + FORMAT
        self._options = {key: value for key, value in {**DEFAULTS, **(options or {})}.items() if value is not None}
        self._texts = Texts.of(texts, query_texts)
        self.budget_tokens = None if budget_tokens is None else check_whole("budget_tokens", budget_tokens, 1)
        self._endpoint = endpoint(
            url,
            "/chat/completions",
            key,
            timeout=check_number("timeout", timeout, 0, 3600),
            retries=check_whole("retries", retries, 0),
            wait=check_number("wait", wait, 0, ends=True),
            seed=self.seed,
        )
        self._usage, self._running, self._largest = Usage(), 0, 0  # calls without a reply yet, and tokens of a call
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"ChatJudge({self._endpoint.url!r}, model={self.model!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update({**state, "_lock": Lock()})

    def __call__(self, query: Any, a: Any, b: Any) -> Any:
        """Ask which of two items is better.

        Parameters
        ----------
        query : object
            The query.
        a, b : object
            The items, ``a`` shown first.

        Returns
        -------
        object
            ``a``, ``b``, or None for equally good.
        """
        return self.reply(query, a, b).answer

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
            said = other = self._ask(query, a, b)
            if self.both_orders:
                other = self._ask(query, b, a)
                other = {"A": "B", "B": "A"}.get(other, other)
        except NoAnswerError:
            self._count("skipped")
            raise
        self._count("answers")
        if other == said:
            return Reply({"A": a, "B": b}.get(said))
        self._count("changed")
        return Reply(None, f"both orders: {said} and {other}")

    @property
    def usage(self) -> Usage:
        """Calls and tokens so far."""
        with self._lock:
            return replace(self._usage, retried=self._endpoint.retried)

    def _ask(self, query: Any, a: Any, b: Any) -> str:
        """Ask in one order: A, B or equal."""
        asked, *sides = self._texts.of_question(query, a, b)
        marker = hashlib.sha256("\0".join([str(self.seed), asked, *sides]).encode(errors="replace")).hexdigest()[:12]
        parts = [("query", asked), *zip(("item A", "item B"), sides, strict=True)]
        question = "\n\n".join(f"[{name} {marker}]\n{text}\n[end of {name} {marker}]" for name, text in parts)
        messages = [{"role": "system", "content": self._instructions}, {"role": "user", "content": question}]
        for attempt in range(self.attempts):
            found = self._call(messages, f"{marker} {attempt}")
            content, why = content_of(found)
            if not why:
                said, why = parsed(content)
                if said:
                    return said
            self._count("invalid")
            messages = [*messages[:2], {"role": "assistant", "content": content or "…"}]
            messages.append({"role": "user", "content": ONCE_MORE})
        raise NoAnswerError(Note("no-valid-answer", attempts=self.attempts, why=why))

    def _call(self, messages: list[dict[str, str]], label: str) -> dict[str, Any]:
        from rankdev.judging._endpoint import RejectedError

        with self._lock:  # a call, and those under way, may be as large as the largest so far
            expected = self._usage.tokens + (self._running + 1) * self._largest
            if self.budget_tokens is not None and expected > self.budget_tokens:
                raise BudgetSpentError(Note("tokens-spent", budget=self.budget_tokens))
            self._running += 1
        try:
            found = self._endpoint.post({"model": self.model, "messages": messages, **self._options}, label)
            prompt, completion = self._tokens(found)
            with self._lock:
                self._usage.calls += 1
                self._usage.prompt_tokens += prompt
                self._usage.completion_tokens += completion
                self._largest = max(self._largest, prompt + completion)
        except RejectedError as error:
            raise NoAnswerError(error) from None
        finally:
            with self._lock:
                self._running -= 1
        return found

    def _tokens(self, found: Mapping[str, Any]) -> tuple[int, int]:
        """Return the tokens of a reply; with a budget, a server that does not count them is refused."""
        usage = found.get("usage")
        counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")] if isinstance(usage, dict) else []
        if len(counts) == 2 and all(isinstance(n, int) and n >= 0 for n in counts):
            return int(counts[0] or 0), int(counts[1] or 0)
        if self.budget_tokens is not None:
            raise DataError("uncounted-tokens")
        return 0, 0

    def _count(self, what: str) -> None:
        with self._lock:
            setattr(self._usage, what, getattr(self._usage, what) + 1)
