"""The sentences of errors, warnings and notes, by kind: where, what was expected, what to do.

Fields stand in braces, and a format says how they are written:

| written | shown |
|---|---|
| ``{item!r}``, ``{item!a}`` | as Python writes it, on one line, cut where it is long; in ASCII |
| ``{queries:query}`` | ``1 query``, ``1,200 queries`` |
| ``{queries:query has}`` | ``1 query has``, ``2 queries have`` |
| ``{missing:query has of {queries}}`` | ``1 of 40 queries has`` |
| ``{queries:it scores|they score}`` | ``it scores`` of 1, else ``they score`` |
| ``{counts:counts}`` | ``a 3, b 40``; those after the fifth are counted |
| ``{runs:runs}`` | ``a:`` of one, else ``a 3, b 40: up to`` |
| ``{names:list}``, ``{names:and}`` | ``a, b, c``; ``a, b and c`` |
| ``{names:some}`` | the first ten, cut where they are long; ``none`` |
| ``{how:differ}`` | ``; they differ by case``, or nothing where it is not known |
| ``{near:hint}`` | ``; did you mean RBP?``, or nothing where nothing is near |

All other formats are Python's own. A parameter in backticks, such as ```ties='given'```, is written without them in
Python, and as ``--ties given`` on a command line that has this option.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from string import Formatter
from typing import Any

from rankdev.errors import RankdevError, counted, listed, printable, shown

# they stand before a sentence
WHERE = ("path", "role", "collection", "system", "segment", "query", "item", "measure", "row")

SENTENCES = {
    # evaluation
    "all-empty": "no query has a reference item; nothing is left once empty queries are skipped",
    "appears-twice": "the {what} {value!r} appears twice; keep one",
    "bad-provenance": "provenance is not what rankdev wrote ({error}); remove it, or score again",
    "contradicts-like": "`like={like!r}` means {name}={means!r}; leave `{name}={value!r}` or `like={like!r}` out",
    "fractional-grade": "the references have the grade {grade:g}, and {program} accepts integer grades only; round the"
    " grades, or leave `like` out",
    "items-differ": "{count:item differs} from the references by {by} only, such as {one!a} and {other!a} for query"
    " {query!r}; use the same ids",
    "lacks-measure": "it has no scores by {measure}, only by {known:list}",
    "means-only": "there are means only; write the values of queries with rankdev eval -q",
    "called-mean": "rows called {name!r} hold neither the mean nor the sum of the others: they count as a query",
    "means-left-out": "{count:row} called {name!r} {count:sums up|sum up} the others: left out",
    "moves-items": "{measure} moves items to other positions; leave judged_only out",
    "no-mean-of-ties": "{measure} has no mean over all orders of ties here; `ties='expected'` is for {known:list}",
    "no-rows": "the {what} has no rows",
    "no-shared-item": "no item that was read of the run is in the references: the run has {one!r} …, the references"
    " have {other!r} …; check that both use the same ids",
    "no-shared-query": "the run shares no query with the references: the run has {one!r} …, the references have"
    " {other!r} …",
    "not-a-ranking": "a ranking is a list of items, best first, or a mapping item → score; got {value!r}",
    "not-a-sum": "{measure} is not a sum of gains over positions; use RDQ, nDCG, AP, RBP, P or RR",
    "not-best-first": "{measure} can score more than with the best items first; set cumulative = False",
    "beyond-range": "{measure} is {value:g}; it can be {low:g} to {high:g}: divide percentages by 100",
    "not-finite": "the {name} is {value!r}; expected a finite number",
    "not-one-system": "it has {count:system} ({names:list}); expected scores of one",
    "not-queries": "queries must be names, indices below {count:,} or a mask; got {value!r}",
    "not-scores": "scores are numbers, [system, query, measure]; got {value!r}",
    "not-two-systems": "differences are between two systems; got {count}: name two as a and b",
    "nothing-to-explain": "this query has no reference item, so every list scores 0; there is nothing to explain",
    "other-definition": "it was computed with another definition of {measure}",
    "other-queries": "it was computed with other queries: {count:query was} {how} since, such as {example!r}",
    "other-references": "it was computed with other references: their items, ranks or grades differ",
    "other-setting": "it was computed with `{name}={before!r}`, not {now!r}",
    "queries-differ": "{count:query differs} from the references by {by} only, such as {one!a} and {other!a}; use the"
    " same ids",
    "same-metric": "two means would both be called {name!r}; select() one of them, or rename the systems",
    "tied-repeat": "query {query!r} returns {item!r} twice with one score; keep one to take the mean over all orders",
    "truncated-run": "the run was truncated at {depth}; read all of it to score {measure}",
    "two-scores": "there are two values of {measure}; keep one",
    "unlike-collection": "it differs from the first in systems or measures; keep common ones",
    # evaluation: notes
    "counted-once": "items that a run returns twice for a query count once: {counts:counts}",
    "empty-skipped": "{count:query has of {queries}} no reference item; {count:it is|they are} left out",
    "empty-zero": "{count:query has of {queries}} no reference item; every system scores 0 there",
    "ideal-below-one": "ideal lists score {ideal:.4f} in {measure}, so score and losses add up to that",
    "left-out": "{runs:runs} {count:row is} left out, because another row of the same query and item counts",
    "little-order": "the references have little order, which {measure} needs: {share:.0%} of the pairs of items are"
    " tied, and {one:query is of {several}} one tier",
    "missing": "{runs:runs} {count:query is of {queries}} not in the run; {count:it scores|they score} 0",
    "pooled": "queries are pooled, so large collections dominate: {counts:counts}",
    "tied": "{runs:systems}: tied scores affect {runs:most}{count:query of {queries}} (see `ties`)",
    "tied-means": "{runs:runs} {count:query has of {queries}} tied items; {count:its value is the mean|their values are"
    " means} over all orders",
    "unavailable": "{runs:runs} {count:query has of {queries}} no value of {measure}",
    "unjudged-items": "{share:.1%} of the top {depth} of {system} are unjudged; they count as nonrelevant",
    "unreferenced": "{runs:runs} {count:query has} no reference; {count:it is|they are} skipped",
    # display
    "bad-ending": "expected a name that ends in {endings:list}",
    "many-axes": "a heatmap shows one or two parameters; got {axes:list}",
    "no-figure": "there is no figure of {result}; its table is in to_polars()",
    "not-a-cell": "{cell} is not a cell of the grid over {axes:and}",
    # html report
    "first-items": "of longer references, the first {items} items are shown",
    "first-runs": "losses are means over runs; lists are those of each system's first run",
    "many-lists": "{systems:system} × {queries:query} are more lists than one page can show ({most:,}); use fewer, or a"
    " sample of the queries",
    "many-systems": "{systems:system} are more than {place} can show ({most}); use fewer",
    "sampled": "the page lists {count:query of {queries}}, sampled with seed {seed}; all else is of all queries",
    # integrations
    "no-digest": "it does not state its references",
    "no-predictions": "no file here ends in {ending}; give the prediction_folder of mteb.evaluate",
    "no-routing": "the scorer got no groups; call sklearn.set_config(enable_metadata_routing=True) and give the query"
    " of each row, as in cross_val_score(…, params={{'groups': queries}}) or GridSearchCV(…).fit(…, groups=queries)",
    "no-scores": "there are no scores; see coverage(…)",
    "no-text": "item {item!r} has no text; give one of every item",
    "not-of-mteb": "these are not predictions of MTEB 2: there is no {key!r}; rankdev.read_run reads other files",
    "of-worker": "{text}",
    "rank-gap": "ranks must be 1, 2, 3 … without a gap; give `reference` where some are not among the items",
    "spark-failed": "Spark could not do the work: {reason}",
    "surplus-items": "more items have some rank than the reference has; is an item there twice?",
    "two-devices": "scores are on {one}, {name} on {other}; move them to one device",
    "undecided": "{text}",
    "worker-lost": "Spark lost a worker too often ({reason}); where it ran out of memory, use more partitions"
    " (spark.sql.shuffle.partitions) or larger workers",
    "worker-without-module": "Spark's workers have no module {module}; install rankdev[spark] there, and your measures",
    "zero-everywhere": "{system} scores 0 everywhere; check that its queries and items have the ids of the references",
    # judging: databases, answers and programs that judge
    "answer-gone": "this answer is not there any more: it was taken back or changed; open the list again",
    "answer-lost": "{why}; {answers:other_answer is} in {kept}",
    "bad-key": "{name} must be text without spaces or line breaks; check how it was copied",
    "bad-name": "a judge's name must have 1 to {most} printable characters, without leading or trailing spaces",
    "because": "{why}",
    "broken-reply": "the reply was cut off, or is longer than {most:,} bytes",
    "call-failed": "{why}{times:| ({times} times in a row)}",
    "database-gone": "the database was closed, moved, replaced or deleted; put it back, or start again",
    "in-use": "another process has it open; end it first, or use its page",
    "judge-failed": "query {query!r}, {first!r} or {second!r}: the judge failed ({why}); {answers:other_answer is} in"
    " {kept}",
    "key-refused": "the key is missing or refused ({status}); set RANKDEV_API_KEY, or give `key`",
    "key-unencrypted": "the key is sent to {host} without encryption; use https",
    "model-refuses": "the model refuses: {text!r}",
    "no-connection": "the connection failed ({why})",
    "no-folder": "there is no folder {folder}",
    "no-reply": "no reply within {seconds:g} s",
    "no-valid-answer": "the model gave no valid answer{attempts:| {attempts} times, at last}: {why}",
    "not-a-database": "this is not a database of judgments; choose another name",
    "not-a-word": "{text!r} is none of A, B and equal",
    "not-an-address": "`{name}` must be an address such as {example}; got {value!r}",
    "not-an-answer": "query {query!r}: the judge returned {value!r}; expected {first!r}, {second!r} or None for equally"
    " good; {answers:other_answer is} in {kept}",
    "not-of-chat": "the reply is {value!r}; is this the address of a chat API?",
    "not-saved": "nothing can be saved ({why})",
    "other-answer": "this request was made before, with another answer; load the page again",
    "reply-cut-off": "it was cut off: give `max_tokens` a larger number, or leave it out",
    "request-rejected": "the request is rejected ({status}); check address, model and account",
    "server-busy": "the server is not available ({status})",
    "silent-judge": "the judge gave no answer to {count} questions in a row; the last: {why}; {answers:other_answer is}"
    " in {kept}",
    "url-with-more": "`{name}` must have no password, ? or #; set RANKDEV_API_KEY, or give `key`",
    # judging: items, people and the page
    "bad-link": "the link is incomplete, or no longer valid: open it exactly as it was given, or ask for another",
    "bad-request": "a request needs {expected}",
    "few-finished": "people have finished {count:query} that the model judged; scores need at least {least}: in each,"
    " an answer to every pair that the model answered",
    "internal-error": "internal error ({why})",
    "name-of-model": "{name!r} is the name of a model here; choose another name",
    "no-link": "{name!r} has no link",
    "no-shared-pair": "no pair was judged by {model!r} and a person yet; rankdev judge --check asks people what it was"
    " asked",
    "no-workers": "the judgments do not record who judged; a check needs the worker of each",
    "not-a-scale": "`grades` is {value!r}; expected 2 to 10 grades: a range (0-3), labels from worst to best"
    " (bad,fair,good), or 0=bad,1=fair",
    "not-found": "there is no such page or request",
    "other-browser": "{name!r} began in another browser; go on there, choose another name, or ask for your own link",
    "other-scale": "it has the grade {grade}, which `grades` does not; use the scale of before, or another database",
    "other-site": "requests from {origin!r} are refused",
    "own-link": "{name!r} has a link of their own: use that link, or choose another name",
    "owner-only": "this needs the owner's link",
    "too-soon": "a question can be answered when it has been shown for {seconds:g} seconds",
    "unasked-model": "{model!r} has not judged these items; ask it first, with rankdev judge --model",
    "ungraded-query": "query {query!r} has no grades, but others have; grade all queries or none",
    "unknown-host": "unknown host {host!r}; --public-url allows one more",
    # judging: notes
    "disagrees": "agrees with others less often than by chance",
    "fast-judge": "more than half of the answers took less than 1 second",
    "lacks-texts": "{count:item has of {items}} no text, such as {item!r} of query {query!r}",
    "left-judge": "prefers the left, whatever is there",
    "misses-gold": "agrees with less than 80% of the gold pairs",
    "notes-of-judges": "All notes about judges together are wrong with a probability of at most {alpha:.0%}, however"
    " often one looks; look at the answers before drawing conclusions.",
    "other-items": "{count:answer} in {path} ignored: about other items.",
    "out-of-reach": "{count:query is of {queries}} not settled with twice the answers that sorting needs: about"
    " {wrong:.0%} is expected to be wrong. Accept a larger `error`, allow more `repeats`, or give a `budget`.",
    "random-unseen": "Random answers would not show here: that takes gold pairs, or pairs judged by two.",
    "right-judge": "prefers the right, whatever is there",
    "skipped-pairs": "{count:pair was} skipped by the judge; the last: {why}.",
    "uncompared": "{count:item was of {items}} not compared with the others; references leave {count:it|them} out.",
    "unfinished-queries": "{count:query is} left out of the scores: people have not finished.",
    # learning
    "bad-counts": "shown is {shown:g} and clicked {clicked:g}; expected whole numbers, clicked at most shown",
    "counts-of-sessions": "a log with the column shown holds counts, without session and propensity; drop shown where"
    " each row is one impression",
    "diverged": "a prediction is not a finite number; lower the learning rate",
    "few-clicks": "{clicks:click is} few: the interval at position {position} is {low:.2f} to {high:.2f}",
    "log-without-queries": "the log has no column query: an item counts as the same item wherever it was shown",
    "log-without-sessions": "the log has no column session: impressions are taken as independent",
    "no-clicks": "the log has no clicks; weights need some",
    "no-groups": "the data set has no groups; pass the number of rows of each query (group=[…])",
    "not-trainable": "training is for RDQ, such as RDQ@10; got {measure}",
    "one-position": "the log has position {position} only; weights compare positions",
    "one-session": "all impressions belong to session {session!r}; intervals need several",
    "poor-fit": "click rates do not factor into positions and items (p = {p:.3f}): users may stop after a click, or"
    " trust the top results",
    "rates-as-weights": "rates are position weights only where positions were randomised, or where views were counted",
    "rising-attention": "position {position} drew {times:.2f} times the attention of the first, as far as clicks show;"
    " RDQ's weights never increase",
    "skipped-positions": "the log has no impressions at some positions: it has {positions:list}",
    "trust-bias": "users seem to trust the top results (p = {p:.2g}): these weights mix trust with attention, and their"
    " intervals do not hold; count views instead of clicks (`method='rates'`)",
    "unfit-labels": "group {group} (from 0): its labels do not fit its reference; make them with training_labels",
    "unlinked-positions": "positions fall into {groups:group} without a clicked item in common, such as {one:list} and"
    " {other:list}, so that their effect cannot be told from that of items; shuffle some results, or use logs of"
    " several rankers",
    # measures
    "bad-gain": "grade {grade!r} gains {gain!r}; gains are numbers of at least 0, and 0 for grades of 0 or less",
    "broken-code": "{error}: {text}",
    "defines-no-measure": "the file defines no measure; derive a class from rankdev.measures.Measure",
    "given-twice": "{name} is given twice; keep one",
    "high-grade": "grade {grade:g} is above max_grade={max_grade:g}; set max_grade={grade:g}",
    "name-taken": "the name {name!r} of the measure {cls} is taken by {by}; choose another",
    "nameless-measure": "the measure {cls} needs a name, such as name = {cls!r}; got {name!r}",
    "needs-cutoff": "{measure} needs a {what}, such as {example}",
    "no-cutoff": "{measure} has no cutoff; leave @{cutoff} out",
    "no-grades": "the references have no grades; give some, or take a measure without, such as nDCG(gains=binary)",
    "no-measure": "no measure was asked for; name at least one, such as RDQ@5",
    "no-nonrelevant": "the references do not state which items were judged nonrelevant; give grades (0 for those), or"
    ' name them as "nonrelevant" next to the tiers: a key in JSONL, a column in tables, a parameter in Python',
    "not-a-dataclass": "put @dataclass(frozen=True, kw_only=True) above class {cls}",
    "not-a-measure": "cannot read the measure {value!r}; expected Name(parameter=value, …)@cutoff, such as RDQ@5",
    "not-computed": "{name} is not computed here; {instead}",
    "not-parameters": "cannot read {value!r}; expected parameter=value, …",
    "not-python": "expected a Python file, which ends in .py",
    "rising-weights": "{name} is {value:g}, more than {before:g} before it; weights never increase",
    "several-measures": "{name} denotes {count:measure}; use it in a list of measures, as in evaluate",
    "short-weights": "{count:weight does} not reach position {position}; give more, or tail={last:g} for the rest",
    "unknown-measure": "unknown measure {name!r}{near:hint} (see rankdev measures)",
    # statistics
    "constant-pairs": "{count:pair has} the same difference on all queries of each collection: whether collections"
    " differ by more than their queries explain cannot be tested",
    "few-collections": "{count} collections are too few to estimate well how much they differ; the intervals are wide",
    "few-queries": "{count:query is} few: intervals over fewer than {least} are wide",
    "gaps": "queries for which a system has no value are left out, of {queries}: {gaps:counts}",
    "geometric": "{measure} is a geometric mean over queries, and tests are about arithmetic means; leave it out",
    "little-overlap": "human and model scores share {both:query} with values of all systems, and the model has"
    " {alone:,} more; expected at least {least} and 1, with the same query ids on both sides",
    "no-cluster": "{count:query has of {queries}} no cluster, such as {example!r}; put each into one, also on its own",
    "no-weight": "{count:query has of {queries}} no weight, such as {example!r}; give each one, also a small one",
    "weights-unknown": "weights of queries are known to evaluate, significance, gate, leaderboard and table only; leave"
    " `weights` out",
    "weights-of-flips": "the randomization test does not know weights of queries; use `test='t'`",
    "weighted-sum": "{measure} is added up over queries, which has no weights; leave it out",
    "weighted": "queries are weighted: {count:query tells} as much as {effective:.3g} of equal weight would",
    "no-common-query": "{measure} has no query with a value for every system; leave the measure or a system out",
    "no-preference": "no preference compares two scored rankings; agreement needs at least one",
    "no-segment": "{count:query has of {queries}} no segment",
    "of-runs": "means over runs: {runs:counts}",
    "one-judge": "all judgments come from one judge, {judge}: the intervals are about this judge's order only",
    "unjudged": "{count:human-judged_query is} not among the model's queries; left out",
    "unlike-measure": "it differs from the first in whether {measure} is a sum, or lower is better; one of them was"
    " read without its measure: import it first, or read what rankdev wrote",
    "unlisted-run": "system {run!r} does not list the run of that name; rename one of them",
    "unscored": "{count:preference is of {preferences}} on queries that were not scored",
    "unscored-segment": "none of its queries was scored",
    "unvalued": "{count:preference is} left out, because a measure has no value there",
    "whole-clusters": "whole clusters are {how}: {count:,} of up to {most:query}",
    # statistics: power and plans
    "beyond-sizes": "n80 of {measures:measures} is beyond the largest size tried, {size:{unit}}; try larger `sizes`",
    "cannot-reject": "no test of {size:{unit}} or fewer can reject at level {alpha:g}: power is 0 there",
    "equal-means": "all systems have the same mean of {measures:measures}: there is no order to compare",
    "equal-pilot": "the pilot cannot tell how much is needed: {a} and {b} differ on {count:{unit} of {all}}; a pilot"
    " with at least {least} such ones can",
    "heavy-tails": "the pilot's differences have heavy tails (kurtosis {kurtosis:.1f}; normal ones have 3): the"
    " interval may be too narrow; a larger pilot would be safer",
    "interrupted": "interrupted: sizes that were not finished are left out",
    "large-share": "sizes from {size:,} on are more than a quarter of {count:{unit}}: subsamples overlap, and tell"
    " little about new ones",
    "no-deviation": "{a} − {b} is the same on all queries of the pilot, which does not show how differences vary; take"
    " another pilot",
    "no-difference": "the pilot shows no difference between {a} and {b}; give the one that matters: `difference`",
    "size-of-all": "there are {count:{unit}}: a subsample of {count} is all of them, and only the flips of a test vary",
    "sizes-left-out": "there are {count:{unit}}; larger sizes are left out: {sizes:list}",
    "smallest-size": "{name} of {measures:measures} is the smallest size tried: {size} means at most {size}",
    # preferences
    "across-queries": "an item is compared with an item of another query",
    "ambiguous-columns": "the {what} may be in {names:list}; choose with `columns={{'{part}': …}}`",
    "ambiguous-outcomes": "{name} has only the values {values:and}, which is ambiguous; use 1 or a for the first item,"
    " 2 or b for the second, tie for neither, name the item, or state with `values` what each means, such as 0=first,"
    " 1=tie, 2=second",
    "fourth-is-winner": "every fourth entry is one of the two items, where (query, winner, loser, worker) is expected;"
    " for (query, a, b, winner) use records such as {{'query': …, 'a': …, 'b': …, 'winner': …}}",
    "infinite-strengths": "some items never lost to others, so that without a ridge their strengths are infinite; use"
    " `ridge=0.1`",
    "item-or-position": "{name} is {value!r}, which may be an item or a position; choose `values='items'` or"
    " 'position'",
    "mixed-types": "{name} mixes {types:and}; use one type",
    "no-direction": "{name} holds degrees of preference; state which item a negative one favours: `values='graded'` the"
    " first (a scale from left to right), 'graded-first' the second",
    "no-pairs": "no pairs to ask: no query has two items",
    "no-query-column": "no column is the query; found {known:some}; choose it with `columns={{'query': …}}`, or None if"
    " all judgments are of one query",
    "not-a-record": "expected records such as {{'query': …, 'winner': …}}; got {value!r}",
    "not-a-row": "expected (query, winner, loser) or (…, worker), all alike; got {value!r}",
    "not-rows": "expected rows (query, winner, loser) or records; got {value!r}; read a file with read_preferences",
    "order-unknown": "the judgments do not record which item was shown first; use columns a and b for the two items in"
    " order, or a column 'first'",
    "position-or-degree": "{name} has only the values {values:and}, which may be positions or degrees of preference;"
    " choose `values='position'`, 'graded' or 'graded-first'",
    "query-taken": "query {query!r} already exists, so a group cannot be given that name; rename it",
    "self-compared": "item {item!r} is compared with itself",
    "unconnected": "its items fall into {groups} groups that were never compared with each other, so no order of all"
    " exists, such as {one:some} and {other:some}; add comparisons between them, or choose `disconnected='split'` (one"
    " reference per group) or 'largest'",
    "unexplained-value": "{name} is {value!r}, which `values` does not explain",
    "unknown-columns": "expected columns query, winner, loser; or query, a, b, winner; or query, a1, a2, label; found"
    " {known:some}; or choose with `columns={{'item_a': …}}`",
    "unknown-item": "item {item!r} is not among the items given for its query",
    # preferences: notes
    "contradictions": "On {count:pair}, a worker answered differently; together they count once.",
    "few-judgments": "{count:query has of {queries}} fewer judgments than sorting the items needs: {counts:counts}.",
    "few-workers": "{count:query has of {queries}} strengths without intervals: those by worker need {least} workers.",
    "inverted-workers": "{count:worker seems} to answer the opposite: {names:some}.",
    "items-far-apart": "items differ greatly (standard deviation of strengths {spread:.1f}), and {answers:.1f} answers"
    " to a pair tell little about the order: the interval is too narrow; ask for each pair in both orders",
    "narrow-intervals": "intervals of single workers take the strengths as known, and are too narrow with {answers:.1f}"
    " answers to a pair",
    "no-order": "{count:query shows} no order: {count:its|their} judgments are more likely coin flips ({names:some})."
    " Judge more pairs twice, or use `rule='strict'` if you trust each answer.",
    "no-position-bias": "The judgments do not record which item was shown first: position bias cannot be estimated.",
    "no-repeats": "No pair was judged twice: agreement cannot be estimated.",
    "not-converged": "The fit did not converge in {steps} steps; raise `ridge`.",
    "one-query": "There is no query column: all judgments are taken to be about one query, {query!r}.",
    "one-worker": "These are one worker's preferences: {worker}.",
    "random-workers": "{count:worker seems} to answer at random: {names:some}.",
    "repeated-judgments": "{count:judgment repeats} one of the same worker; together they count once.",
    "skipped-judgments": "{count:judgment is} skipped, as chosen by `values`.",
    "unanswered": "{count:row is} left out, which {count:has|have} no answer.",
    "unconnected-items": "{count:item is} left out, which no chain of comparisons connects with the others, such as"
    " {names:some} of query {query}.",
    "unjudged-queries": "{count:query has} no judgments and no reference: {names:some}.",
    "unused-columns": "Columns not used: {names:some}.",
    "weightless": "{count:judgment is} left out: the weight is 0.",
    "weights-ignored": "Weights are ignored: every judgment counts once.",
    # the command line
    "bad-saved-scores": "{error}; score that run again with rankdev gate REFERENCES RUN --save FILE",
    "bad-setting": "{name}: {why}",
    "bug": "this should not happen; it is a bug in rankdev ({error}: {text}); RANKDEV_TRACEBACK=1 shows where",
    "candidate-only": "with --against, give REFERENCES and the RUN of the candidate alone",
    "new-port": "port {port}, used last time, is not available: the links are new",
    "no-candidate": "give REFERENCES and the RUNs of baseline and candidate; or --against or --scores",
    "no-encryption": "others on the network can read the links and the answers, which are not encrypted; put a server"
    " in front that encrypts, and give its address as --public-url",
    "no-memory": "not enough memory; evaluate fewer systems or measures at a time",
    "no-saved-scores": "there is no file {path}; create it with rankdev gate REFERENCES RUN --save {path}",
    "no-server": "{address}: cannot start a server here ({why}); choose another --port",
    "no-source": "give REFERENCES and RUNs (or {known:list})",
    "no-such-runs": "no run matches `replicates={value}`; the runs are {known:list}",
    "not-a-section": "{value!r} is not a command{near:hint} (settings are in [COMMAND] sections)",
    "not-for-settings": "settings run no code and name no output; give {value} of {section} on the command line",
    "not-a-setting": "{value!r} is not an option of {section}{near:hint} (see rankdev help {section})",
    "not-a-table": "expected a table (CSV, TSV, JSONL, JSON or Parquet) with the columns {columns:list}",
    "not-for-terminals": "{form} cannot be shown on a terminal; write it to a file with -o",
    "not-one-measure": "give one measure with -m; got {measures:list}",
    "not-toml": "not valid TOML ({why}); fix it, or run rankdev in another folder",
    "not-a-pair": "two systems are compared; got {count} ({systems:list}); name two",
    "one-standard-input": "only one of the files can be standard input (-)",
    "other-file": "this file exists and differs from the demo's; choose another folder",
    "read-twice": "it can be read only once, and --against and --save read it twice; give a file",
    "same-name": "two {what} are called {name!r} ({paths:and}); rename one",
    "same-system": "two {what} are called {name!r} ({paths:and}); name them with --name",
    "settings": "settings of {file}: {values:list}",
    "skipped-segment": "left out: {error}",
    "two-clusters": "query {query!r} is in two clusters, {one!r} and {other!r}; keep one",
    "two-settings": "{names:and} both have settings; keep them in one of the files",
    "unknown-name": "unknown {what} {value!r}{near:hint} (see {see})",
    # files
    "binary-file": "this is a binary file; expected text, Parquet or an Excel workbook",
    "cannot-hold": "such a file cannot hold {what}; write {instead} instead",
    "changed": "the file changed while it was read; try again once it is complete",
    "closed-input": "{path} is closed; give a file, or pipe something in",
    "column-count": "{count:column}; expected {expected}: {names:some}",
    "contexts-in-table": "the items that are right for a question are a list, as JSON and JSONL have them",
    "cut-short": "the last line is cut short: the one before it ends in the tag {tag!r}",
    "damaged": "the file cannot be read to its end ({why}); it may be damaged",
    "decompress-first": "this is {format}, which is not read; decompress it first, or pack it with gzip or zstd",
    "describes-itself": "a database of judgments describes itself; leave out `columns` and `values`",
    "empty-file": "the file is empty",
    "first-sheet": "of {count} sheets only the first is read, {name!r}",
    "gold-left-out": "{count:answer was} left out: about gold pairs",
    "graded-often": "{count:item was} graded several times; the mean counts",
    "is-folder": "this is a folder; give a file (tables may be folders of .parquet files)",
    "item-twice": "item {item!r} appears twice in the list of a query; a reference needs each item once",
    "locked": "another program has locked the database; close that program",
    "long-line": "a line or text is longer than {most} MB; check the file",
    "looks-like-run": "this looks like a run; give it as a run, after the references",
    "name-twice": "{name!r} appears twice in the same object; keep one",
    "nameless-runs": "runs must be {{system: run}}, or a file or table of several systems; got {value}",
    "no-given-grades": "it has no grades; rankdev refs preferences reads its judgments of pairs",
    "no-judged-pairs": "no pair was judged yet (rankdev refs grades reads grades)",
    "no-runs": "no run was given; give at least one",
    "no-runs-here": "there are no runs here; give a folder that holds one file per system",
    "nonrelevant-grades": "there must be one grade of 0 or less for each nonrelevant item",
    "not-a-system": "a system is named by text; got {value!r}",
    "not-an-object": "this is not a JSON object; expected one on each line",
    "not-by-query": "expected a JSON object that maps each query to its items, or a list of records: responses of a"
    " search engine, or questions with their contexts",
    "not-graded": "this file has ranks, not grades; it already is a reference",
    "not-judgments": "this is not a database of judgments ({why}); rankdev judge makes one",
    "not-parquet": "of a folder only .parquet files are read; move it away, or read it alone",
    "not-references": "expected the columns query, item and rank (or grade), or query and tiers; found {known:some};"
    " choose others with `columns`",
    "not-utf8": "this is not UTF-8; save the file as UTF-8",
    "tier-grades": "there must be one positive grade for each tier, highest first",
    "thousands": "{name} {value!r} is read with a decimal point; beside semicolons it may be a thousand: write numbers"
    " without separators",
    "too-deep": "lists in lists, more than {most} of them, are no column; leave it out",
    "too-big": "the file does not fit into memory; a TREC run needs least",
    "two-texts": "{key} {name!r} has two texts; keep one",
    "skipped-left-out": "{count:answer was} left out: the judges could not decide",
    "unwritable-name": "{name!r} would not be read back as it is from such a file; write .jsonl instead",
    "versioned-folder": "its log lists which files count; read it with its own library, as a frame",
    "word-count": "{count:word}; expected 4 (topic a b winner) or 3 (query preferred other), equally many on each line",
    "wrong-content": "the content is not {expected}; check the file or its name",
    # references and runs
    "dict-of-columns": "{columns:and} are columns of a table; pass polars.DataFrame(…) of them",
    "empty-tier": "tier {tier} is empty; every rank needs an item",
    "engine-error": "the search engine returned an error ({why!r}); search again",
    "grades-or-ranks": "{{item: number}} could mean grades or ranks; use References.from_grades or"
    " References.from_ranks; of a file, rankdev refs grades",
    "later-page": "the hits begin at {start!r}; a run begins with the first (start=0)",
    "looks-like-references": "this looks like references; give them as the references, before the runs",
    "nameless-response": "this response does not name its query; write {{query: response}}, one record"
    ' {{"query": …, "response": …}} for each, or "queries": […] next to the "responses" of a multi-search',
    "needs-order": "{what} needs one order, and `ties={ties!r}` has none; choose another rule for ties",
    "no-contexts": "this names no relevant contexts (reference_contexts), which references need",
    "no-id-of-hit": "hit {place} has no {name}; return that field, or choose another with `columns`; got {value!r}",
    "no-items": "a reference needs at least one item; leave the query out, or name what is nonrelevant",
    "not-grades": "all items of a user are equally good: {name!r} is not used; `columns={{'grade': '{name}'}}` does",
    "no-queries": "references need at least one query",
    "no-question": "this record names no question; expected one of {known:list}",
    "no-ranks": "a run {{query: {{item: score}}}} has no ranks; order it by score",
    "not-a-rank": "item {item!r} has the rank {rank!r}; ranks are whole numbers from 1",
    "not-a-response": "this is not the response of a search engine; got {value!r}",
    "not-a-tier": "tier {tier} must be a list of items; got {value!r}",
    "not-competition": "rank {rank:g} must be {expected}, one more than there are items before it, with"
    " `ranks='competition'`",
    "number-and-text": "a name appears twice, as a number and as text; keep one",
    "partial-answers": "{count:answer is of {answers}} not complete, such as that for query {query!r} ({why});"
    " search again",
    "queries-of-responses": '"queries" must list the queries of the {count:response}, in their order',
    "query-twice": "query {query!r} appears twice; give it once, with all its items",
    "hidden-characters": "ids hold characters that cannot be seen, such as {name!a}; without them, they are others",
    "ids-or-scores": "a Series of whole numbers could hold items or their values; pass .tolist() or .to_dict() of it",
    "index-twice": "{value!r} appears twice in the index of a Series; keep one",
    "comment-line": "comments are not read; leave out lines that begin with #",
    "comment-lines": "lines that begin with # are read as queries, such as {name!r}; leave comments out",
    "dates-among-ids": "column {name!r} holds dates, such as {value!r}, which a spreadsheet may have made of ids; store"
    " ids as text",
    "no-mean-of-ranks": "ranks have no mean; choose `duplicates='first'` (or last, best), or give grades",
    "word-for-grade": "the grade is {value!r}; expected a number, or say what words mean: `grades={{'{value}': …}}`",
    "unknown-order": "{name!r} could order these items in another way than they are listed; say so with"
    " `columns={{'score': '{name}'}}` ('rank', 'distance', 'grade'), or `order='rank'` where the list is in order",
    "unordered-gold": "{name} has no order by its makers' definition: its items are one tier; where its order counts,"
    " say `columns={{'items': '{name}'}}`",
    "rank-against-grade": "item {item!r} has the rank {rank:g}, but its grade {grade:g} makes it {expected}; keep one"
    " of the two columns",
    "rank-missing": "rank {rank:g} is missing; ranks must be consecutive from 1",
    "rank-skipped": "rank {rank:g} is missing; ranks must be consecutive; for ranks such as 1, 1, 1, 4 set"
    " `ranks='competition'`",
    "rank-twice": "rank {rank:g} appears twice; each item needs a rank of its own, unless `ranks='competition'`",
    "ranked-and-nonrelevant": "item {item!r} has a rank and is nonrelevant too; keep one",
    "read-again": "this Run no longer has what that takes; read it again with `{name}={value!r}`",
    "repeated-rows": "{count:row is} ignored because of an earlier one with the same query and item, the first for"
    " query {query!r}, item {item!r}",
    "returned-twice": "{count:item is} returned twice for the same query, such as {item!r} for {query!r}; only the"
    " first occurrence counts",
    "rising-rows": "scores rise from row to row nearly everywhere, as sorted distances do, and higher scores come"
    " first; for distances, name the column, `columns={{'distance': …}}`, or order by rank, `order='rank'`",
    "rising-scores": "on every line the score rises with the rank, as a distance does, and higher scores come first;"
    " order by rank instead: `order='rank'`",
    "two-in-run": "item {item!r} has two {what}s, {a:.15g} and {b:.15g}; keep one, or choose with `duplicates='first'`"
    " (or last, best)",
    "two-values": "item {item!r} has two {what}s, {a:.15g} and {b:.15g}; keep one, or choose with `duplicates='first'`"
    " (or last, best, mean)",
    # tables, ids and files
    "being-read": "this file is being read; write to another one",
    "cannot-write": "cannot write here ({why}); choose another place",
    "column-twice": "two columns are called {name!r}, capitals and blanks aside; keep one",
    "forked": "this process was forked after its parent had used rankdev, and would hang; start processes with"
    " multiprocessing.get_context('spawn') or 'forkserver', or fork before the first use",
    "no-systems": "nothing names the system of each row; expected one of {known:list}, or runs as {{system: run}}",
    "record-for-items": "expected items; got the record {value!r}",
    "two-columns": "{names:and} could both be the {name}; choose one with `columns={{'{name}': …}}`",
    "unusable-table": "this {what} cannot be used as a table ({why})",
    "not-an-id": "an id is text or a whole number; got {value!r}",
    "not-text": "{value!r} is not valid text; write it in UTF-8",
    "path-for-table": "expected a table; got the path {value!r}; read the file first, as a frame",
    "same-output": "two outputs of this call are the same file; give each its own",
    "series-for-table": "a pandas Series is not a table; give a DataFrame, such as that of reset_index()",
    "several-systems": "these are the runs of several systems ({column} {names:some}); give one run for each, or all at"
    " once as the runs (on the command line, --by-tag); if {column} means something else, leave the column out",
    "unrated": "{count:row has} no rating; {count:it is|they are} left out",
    "wrong-form": "expected {expected}; got {value!r}",
    # any argument, table or file
    "no-texts": "expected a table with the column item, perhaps query, and one or more of {columns:list}",
    "too-long": "{what} may have at most {most:,} characters; shorten it",
    "none-known": "it has none of the {what}; are the ids the same?",
    "none-given": "there are no {what}; at least one is needed",
    "bad-column": "column {name!r} holds {type}; expected {expected}",
    "bad-shape": "{names:and} must have the shape {expected}; got {shapes:list}",
    "bad-value": "{name} is {value!r}; expected {expected}",
    "cannot-open": "cannot be opened ({why})",
    "empty": "{name} is empty; give {expected}",
    "needed": "`{name}` is needed for `{use}`",
    "no-columns": "columns {names:and} are missing; found {known:some}; choose others with `columns`",
    "no-column": "column {name!r} is missing; found {known:some}; choose another with `columns`",
    "no-reference": "query {query!r} has no reference; leave it out",
    "nothing-in-common": "{one} and {other} share no query; do they use the same ids?",
    "no-value": "no {name}; every row needs one",
    "not-json": "not JSON ({why})",
    "one-of-two": "give `{name}` or `{other}`, and not both",
    "not-needed": "`{name}` is for `{use}` only; leave it out",
    "unequal": "{names:and} must be equally many; got {counts:and}",
    # decisions about pairs
    "only-baselines": "every system is a baseline; leave at least one to compare with them",
    "too-many-marks": "there are marks for at most {most} systems to compare with; got {count}: name fewer `baselines`",
    "few-differ": "{measure}: too few queries differ for any test in {count:pair of {pairs}};"
    " {count:its interval is|their intervals are} deliberately wide",
    "few-answered": "{system} answers only {count:query of {queries}}; the others count as 0",
    "finest-p": "{permutations:,} sign flips cannot show a p below {p:.1g}; draw more with `permutations`",
    "mostly-unjudged": "{share:.0%} of the items that {system} returns first are unjudged; judge them, or score fewer"
    " positions",
    "no-relevant-item": "{system} returns no relevant item for any query. Its ids look like {run_id!r}, the references'"
    " like {reference_id!r}{how:differ}: check the ids",
    "untestable-segments": "no segment can be tested: {notes:list}",
    "one-query-decides": "{measure}: one query ({query}) drives {a} vs {b}: {mean:+.3f} with it, {without:+.3f}"
    " without",
    "range-seen": "{measure} has no known range: intervals of pairs that hardly differ allow for differences up to"
    " {range:.3g}, the range of the scores",
    "required-lost": "required query {query!r} lost {lost:.3g} in {measure}",
    "required-unscored": "required query {query!r} has no score{near:hint}",
    "margin-needed": "name the `margin`, a loss of the mean that is acceptable: without one there is nothing to pass",
    "one-system": "baseline and candidate are both {name!r}; name two systems",
    "which-candidate": "the scores have {count:system} besides {baseline!r}; name the candidate",
    "single-collection": "`{name}` is for a single collection; leave it out, or give one collection",
    "several-collections": "these are the scores of several collections; give them to meta_analysis(…), or join their"
    " queries with Scores.pooled(…)",
    "skewed": '{measure}: {count:difference is} skewed (up to {skewness:.1f}); a false "better" is then likelier'
    " (simulated: in up to 11%, not 2.5%): look at the queries that decide",
    "single-run": "{systems:and} {count:has|have} one run, taken as deterministic",
    "small-segment": "segment {segment!r} is left out: it has {count:{unit}}, and a test needs two",
    "test-of-runs": "`test={test!r}` cannot be combined with replicates; leave it out",
    # any argument
    "not-a-separator": "`collapse` is {value!r}; expected what separates document and chunk: '#'",
    "not-words": "`grades` must be {{word: grade}}, with a number for each; got {value!r}",
    "not-columns": "`columns` must be {{our name: name in the table}}; got {value!r}",
    "unknown-column": "`columns` names {name!r}{near:hint} (one of {known:list})",
    "unknown-query": "there is no query {query!r}{near:hint}",
    "unmet-columns": "`columns` names {names:list}, which no input has; check the spelling",
    "missing-extra": "{purpose} needs {package}; install it with: pip install 'rankdev[{extra}]'",
    "not-a-choice": "unknown {name} {value!r}{near:hint} (one of {known:list})",
    "not-a-flag": "`{name}` must be True or False; got {value!r}",
    "not-a-number": "`{name}` must be a number {expected}; got {value!r}",
    "no-file": "there is no such file",
    "not-a-path": "expected the name of a file; got {value!r}",
    "not-a-type": "`{name}` must be {expected}; got {value}; {remedy}",
    "not-names": "`{name}` must be a list of names; got {value!r}",
    "not-together": "`{name}` cannot be combined with `{other}`; give one of them",
    "not-whole": "`{name}` must be a whole number of at least {low}; got {value!r}",
    "too-few": "{what} needs at least {least:{unit}}; got {count:,}",
    "too-large": "`{name}` must be at most {high:,}; got {value!r}",
}


def sentence(kind: str, fields: Mapping[str, Any], options: Mapping[str, str] | None = None) -> str:
    """Return the sentence of a kind; ``options`` are the options of a command by parameter.

    >>> sentence("not-a-flag", {"name": "strict", "value": 1, "system": "bm25"})
    "system 'bm25': strict must be True or False; got 1"
    >>> sentence("not-a-flag", {"name": "strict", "value": 1}, {"strict": "--strict"})
    '--strict must be True or False; got 1'
    """
    if kind == "several":
        errors: Sequence[Any] = fields["errors"]
        return "\n".join([f"{len(errors)} inputs are wrong:", *(error.sentence(options) for error in errors)])
    fields = {
        name: field.sentence(options) if isinstance(field, RankdevError) else field for name, field in fields.items()
    }
    template = SENTENCES[kind]
    text = _place(template, fields) + _FORMAT.vformat(template.replace("`", _MARK), (), fields)
    return _PARAMETER.sub(lambda found: _parameter(found, options or {}), text)


def _place(template: str, fields: Mapping[str, Any]) -> str:
    """Return what stands before the sentence: the fields of :data:`WHERE` that it does not name."""
    named = {name for _, name, _, _ in Formatter().parse(template)}
    found = ""
    for name in WHERE:
        value, line = fields.get(name), fields.get("line")
        if name in named or value is None or (name == "row" and (line, fields.get("query")) != (None, None)):
            continue
        if name in ("path", "measure", "role"):
            found += printable(str(value)) + (f":{line}" if name == "path" and line is not None else "")
        else:
            found += f"{name} {shown(value)}"
        found += ": "
    return found


_MARK = "\ue000"  # no name from outside has it: printable() escapes it
_PARAMETER = re.compile(f"{_MARK}(\\w+)(?:=(['\"]?)([^{_MARK}]*?)\\2)?{_MARK}|{_MARK}")
_PART = re.compile(r"\{'(\w+)': (.*)\}")  # of a mapping, such as {'query': …}


def _parameter(found: re.Match[str], options: Mapping[str, str]) -> str:
    name, value = found[1], found[3]
    if name not in options:
        return found[0].replace(_MARK, "")
    return options[name] if not value else " ".join([options[name], _PART.sub(r"\1=\2", value)])


class _Sentence(Formatter):
    """Formats of fields; see the table above."""

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        """Show a value as Python writes it."""
        if conversion == "a":
            return shown(value).encode("ascii", "backslashreplace").decode()
        return shown(value) if conversion == "r" else super().convert_field(value, conversion)

    def format_field(self, value: Any, spec: str) -> str:
        """Write a value in one of the formats."""
        if spec in _SEVERAL:
            return printable(_SEVERAL[spec](value))
        if spec == "hint":
            return f"; did you mean {value}?" if value else ""
        if spec == "differ":
            return f"; they differ by {value}" if value else ""
        if "|" in spec:
            one, _, more = spec.partition("|")
            return one if value == 1 else more
        if re.match("[a-z]{2}", spec):
            words, _, whole = spec.partition(" of ")
            noun, _, verb = words.partition(" ")
            return counted(value, noun.replace("_", " "), verb, of=int(whole) if whole else None)
        return printable(format(value, spec))


def _counts(counts: Sequence[tuple[str, int]]) -> str:
    named = ", ".join(f"{name} {count:,}" for name, count in counts[:5])
    return named + (f" and {len(counts) - 5} more" if len(counts) > 5 else "")


def _few(names: Sequence[str], noun: str) -> str:
    return listed(names) if len(names) <= 3 else counted(len(names), noun)


_SEVERAL: dict[str, Callable[[Sequence[Any]], str]] = {
    "list": lambda names: ", ".join(map(str, names)),
    "some": lambda names: (
        ", ".join(shown(str(name))[1:-1] for name in names[:10]) + ", …" * (len(names) > 10) or "none"
    ),
    "and": lambda names: listed([str(name) for name in names]),
    "counts": _counts,
    "measures": lambda names: _few(names, "measure"),
    "systems": lambda counts: _few([name for name, _ in counts], "system"),
    "most": lambda counts: "up to " if len(counts) > 1 else "",
    "runs": lambda counts: f"{_counts(counts)}: up to" if len(counts) > 1 else f"{counts[0][0]}:",
}
_FORMAT = _Sentence()
