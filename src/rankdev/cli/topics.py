"""The texts of ``rankdev help TOPIC``: what many commands have in common, explained once."""

from __future__ import annotations

from rankdev.data.options import TIE_RULES

RUNS = """\
A run is a system's ranking for each query. Commands take references first, then
runs; each run is named after its file.

  --order score|rank   Order a run by its score (default) or its rank column.
  --ties RULE          How items with equal scores are ordered. Default:
                       trec_eval. See rankdev help ties.
  --empty zero|skip    Queries without a relevant item: every system scores 0
                       (default), or they are left out.
  --like PROGRAM       Follow trec_eval-10, trec_eval-9, pytrec_eval,
                       ir_measures, gdeval or ranx: its order of ties, rounding
                       of IPrec, names, and comments in files. --order, --ties
                       and --empty must not contradict it.
  --name TEXT          Name of a run, in place of its file's; once per run, in
                       the order of the runs.
  --by-tag             A run file holds several systems: one for each tag, or
                       each value of a column system, tag, run_id, run or name.
  --strict             Treat as errors the warnings and notes about input that
                       could make a number wrong: queries that only one side
                       has, ids that differ only by case, blanks or Unicode
                       form, scores that rise with the ranks, repeated items.
  --import FILE        A Python file with measures of your own; repeat for more.

A query of the references that is missing from a run scores 0. A query of a run
that is missing from the references is ignored. Notes report both. For the
formats of runs see rankdev help files.

Example: rankdev eval places.jsonl nearest.run blended.run --ties descending"""

TABLES = """\
Tables of runs, references and scores: CSV (also with semicolons and decimal
commas), TSV, JSONL, Parquet or .xlsx (pip install 'rankdev[excel]'). Capitals
and blanks in the names of columns do not matter.

  query   also qid, query_id, query_text, user_id or user
  item    also docno, doc_id, docid or item_id
  grade   also relevance, label or rating
  score or rank; the rank of a run may be called position

  --columns NAME=COLUMN,...
                       Columns that have other names: item=sku,score=points.
                       Also the fields of a search engine's responses.
  --duplicates WHICH   Which row counts if a query lists an item more than
                       once: first or last in the file, or best (highest
                       score). Default: two scores of an item are refused.
  --collapse MARK      Items are chunks such as d7#3 of documents such as d7:
                       each document has the position of its best chunk.
  --ranks WHICH        Ranks are consecutive (default) or, with competition,
                       skip as many as are tied: 1, 1, 1, 4.

Example: rankdev eval places.jsonl blended.run --duplicates best"""

REFERENCES = """\
References state, for each query, the ideal order of its items: as a list, as
tiers of items that tie, or as grades.

  rankdev refs grades QRELS       One tier per positive grade.
  rankdev refs lists FILE         A strict order, best item first.
  rankdev refs merge FILE...      Several rankings merged into one.
  rankdev refs preferences FILE   Pairwise judgments, with ties where the
                                  evidence is too weak to order.
  rankdev refs agreement FILE     How far assessors agree.
  rankdev judge ITEMS --db FILE   Collect pairwise judgments in the browser.

Every command that takes REFERENCES reads TREC qrels and tables with grades as
they are; refs grades is only needed to write them in another format. Items may
be judged nonrelevant, by grade 0 or by "nonrelevant" next to the tiers; rankdev
bounds needs to know them.

Example: rankdev refs preferences judgments.csv -o refs.jsonl"""

MEASURES = """\
A measure is written as its name, its parameters and its cutoff:

  RDQ@5                      the first five positions
  RDQ(alpha=4)@5             with a parameter
  'nDCG(dcg=exp-log2)@10'    quotes keep the shell from reading the brackets
  AP                         no cutoff: the whole list
  paper@5                    all configurations of the paper at 5

Give several as -m RDQ@5 -m AP@5 or as -m RDQ@5,AP@5. Measures that need grades,
such as nDCG with its default gains, refuse references that have only ranks.

  rankdev measures           lists all measures and their parameters
  rankdev sensitivity        shows how parameters change a measure's power
  rankdev weights            estimates position weights from clicks

--import FILE adds measures of your own, written in Python."""

OUTPUT = """\
Results are printed as a table.

  --format NAME        table, json, jsonl, csv, tsv, parquet, html, latex or
                       markdown.
  -o, --output FILE    Write to a file; its extension chooses the format: .txt,
                       .json, .jsonl, .csv, .tsv, .parquet, .html, .tex or .md,
                       each also with .gz or .zst. - is standard output.
  --figure FILE        Also draw the result: .png, .svg or .pdf. Needs
                       matplotlib: pip install 'rankdev[plot]'.
  --safe-csv           In CSV and TSV, put ' before names that a spreadsheet
                       would run as formulas.

Notes and warnings go to standard error. A file appears only once it is
complete, and no command overwrites a file that it reads. JSON holds parameters
and notes next to the rows.

Exit status: 0 success, 1 invalid data, 2 invalid command, 130 interrupted.

Example: rankdev eval places.jsonl blended.run -q -o scores.csv"""

SIMULATION = """\
Simulations and resampling draw from a seeded generator.

  --seed N             The same seed gives the same numbers. Default: 0.

The results do not depend on the number of cores, nor on whether numba is
installed. Options that set the size of a simulation belong to each command:

  --subsamples N       subsamples of queries per size (power, stability,
                       sensitivity)
  --permutations N     sign flips per randomization test
  --resamples N        resamples for intervals; 0 computes none

Example: rankdev power places.jsonl popular.run blended.run --sizes 8 --seed 7"""

TIES = """\
Items of a run with equal scores need an order. --ties chooses it:

{rules}

The default orders ties as pytrec_eval does, so that scores can be compared with
published ones. Notes report where ties affect a score. --order rank uses the
rank column, which has no ties. Ties in the references are tiers: items that
share a rank.

Example: rankdev eval places.jsonl blended.run --ties expected"""

STATISTICS = """\
From scores to conclusions:

  rankdev compare      tests the differences between systems
  rankdev plan         estimates how many queries a comparison needs
  rankdev power        estimates power for n queries, from subsamples
  rankdev stability    estimates how stable the ranking of systems is
  rankdev agreement    compares the rankings that measures give
  rankdev bounds       bounds scores when some items are unjudged
  rankdev ppi          combines human and model judgments

One meaning for each option:

  --alpha X            level of a test; its intervals hold with 1 - alpha
  --test NAME          t (default) or randomization
  --correction NAME    holm (default), bh or none, over the pairs of --family:
                       those of each measure, or of all
  --margin X           the largest difference that does not matter
  --replacement        draw queries with replacement, as for new queries
  --segments FILE      a table with query and segment: results by segment
  --scores FILE        scores instead of runs, as written by rankdev eval -q
  --collection FILE    scores of one of several collections

Example: rankdev compare --scores scores.csv --baseline nearest"""

FILES = """\
Files are recognised by their content. .gz and .zst are decompressed; - is
standard input.

  references    TREC qrels: query 0 item grade
                JSONL: {"query": ..., "tiers": [[...], [...]]}
                tables with query, item and rank or grade
                JSON: {query: [item, ...]}
  runs          TREC: query Q0 item rank score tag
                tables with query, item and score or rank
                JSON: {query: {item: score}} or {query: [item, ...]}
  preferences   tables with query, winner, loser, or query, two items and an
                outcome; lines: topic a b winner; files of rankdev judge
  scores        tables with system, query, measure, value
  segments      tables with query, segment

Tables are CSV, TSV, JSONL or Parquet. A query may be called query_id or qid, an
item doc_id, docid or docno, a grade relevance or label. The extension of an
output chooses its format: see rankdev help output."""

MODELS = """\
A language model can answer in place of assessors, in the same database:

  rankdev judge items.jsonl --db judgments.sqlite --model URL NAME

URL is that of an OpenAI-compatible API, such as https://api.example.com/v1, and
NAME a model there. The key is read from the environment variable
RANKDEV_API_KEY, and nowhere else. Run the command again to resume. Ctrl-C keeps
all answers and waits for the calls in progress; press it again to stop at once.

  --parallel N           How many questions are asked at once. Default: 8.
  --budget N             Questions at most, spread over the queries.
                         Default: until the goal is reached.
  --budget-tokens N      Stop before this command uses more tokens than this.
  --both-orders          Ask each question in both orders; the two items count
                         as equally good unless both replies agree.
  --guidelines FILE      What makes an item better, as text.

Let people check how far to trust it. rankdev judge --check NAME asks them about
pairs that it judged. rankdev refs agreement judgments.sqlite --model NAME
reports how far they agree, and with --run and -m which system is better.

Example: rankdev judge items.jsonl --db judgments.sqlite --check small"""

JUDGING = """\
The page of rankdev judge shows assessors two items: which is better? With
--grades SCALE it also asks how good each item is. SCALE is a range such as 0-3,
labels from worst to best such as bad,fair,good, which are saved as 0, 1, 2, or
both: 0=bad,1=fair,3=good. Then:
rankdev refs grades judgments.sqlite -o refs.jsonl

  --guidelines FILE    Markdown, shown next to the items. Images are links, and
                       HTML is text: the page loads nothing from elsewhere.
  --query-texts FILE   A table with the column query and one or more of text,
                       description and narrative. ITEMS may have them, too, as
                       query_text, query_description and query_narrative.
  --public-url URL     Address that assessors use, of a proxy in front of it.

Example: rankdev judge items.jsonl --db judgments.sqlite --guidelines guide.md"""


TEAMS = """\
Several assessors judge the items of rankdev judge:

  --judges NAME,...      A link for each, and none for everybody. Answers are
                         kept under the name of the link. The owner's page
                         makes further links, and revokes them.
  --gold FILE            A table with query, first, second and outcome (first,
                         second or tie): pairs whose answer is known. One
                         question in ten is one of them.

--repeats N is how many assessors judge a pair at most. Answers to gold pairs
do not count as judgments; the owner's page uses them to show how reliable each
assessor is.

Example: rankdev judge items.jsonl --db judgments.sqlite --judges ann,bob"""


def _ties() -> str:
    width = max(map(len, TIE_RULES))
    return TIES.format(rules="\n".join(f"  {name:<{width}}   {rule.summary}" for name, rule in TIE_RULES.items()))


TOPICS = {
    "runs": ("Rankings: --order --ties --empty --name --by-tag --import.", RUNS),
    "tables": ("Columns and duplicates: --columns --duplicates --collapse --ranks.", TABLES),
    "references": ("Ideal orders, and how to build them.", REFERENCES),
    "measures": ("How a measure is written, and where parameters come from.", MEASURES),
    "output": ("Formats, files and figures: --format -o --figure --safe-csv.", OUTPUT),
    "simulation": ("Seeds and resampling: --seed --permutations.", SIMULATION),
    "ties": ("How items with equal scores are ordered.", _ties()),
    "statistics": ("Tests, power and planning: which command answers what.", STATISTICS),
    "judging": ("The page of rankdev judge: --guidelines --query-texts.", JUDGING),
    "models": ("Language models as judges: rankdev judge --model.", MODELS),
    "teams": ("Several assessors: rankdev judge --judges --gold.", TEAMS),
    "files": ("What can be read, and in which formats.", FILES),
}


def contents() -> str:
    """List the topics."""
    lines = [f"  {name:<10}  {summary}" for name, (summary, _) in TOPICS.items()]
    return "\n".join(
        [
            "Topics (rankdev help TOPIC):",
            *lines,
            "",
            "rankdev help COMMAND, or rankdev COMMAND --help, shows the options of a command;",
            "rankdev --help lists the commands.",
        ]
    )
