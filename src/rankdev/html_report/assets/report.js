// @ts-check
// The report: state → page. All numbers were computed in Python; here they are only selected, sorted and filtered.

/** @type {any} */ let report;
/** @type {Record<string, Packed>} */ let arrays;
const state = { measure: 0, a: 0, b: 1, query: -1, search: "", side: "all", segment: -1, sort: "difference", down: true, page: 0, scoresBy: 0 };

/** @param {number | null} value @param {number} [digits] */
function shown(value, digits = 4) {
  if (value === null) return "–";
  return Number.isFinite(value) ? written(value, digits) : value > 0 ? "∞" : "−∞";
}

/** @param {number | null} value @param {number} [digits] */
function signed(value, digits = 4) {
  return (value !== null && value >= 0.5 * 10 ** -digits ? "+" : "") + shown(value, digits);
}

/** @param {string} id @param {string} caption @param {Node[]} heads @param {Node[]} rows */
function fillTable(id, caption, heads, rows) {
  const table = byId(id);
  table.caption.textContent = caption;
  table.tHead.replaceChildren(element("tr", {}, ...heads));
  table.tBodies[0].replaceChildren(...rows);
}

const LONG_WORD = 20; // letters that fit on every screen
const WORDS_OF_NAMES = /(?<=[_/:]|\.(?=\p{L}))(?=\S)/u; // where a long name breaks
/** A measure's text, which may break after a bracket or a comma. @param {string} text @param {RegExp} [after] */
const broken = (text, after = /(?<=[(,)])/) => text.split(after).flatMap((part, i) => (i ? [element("wbr"), part] : [part]));

/** @param {string} text @param {string} [kind] */
const head = (text, kind = "") => element("th", { scope: "col", class: kind }, ...broken(text));

/** @param {Node|string} content @param {string} [kind] */
const cell = (content, kind = "") => element("td", kind ? { class: kind } : {}, content);

/** @param {string} text @param {boolean} [chosen] */
const measureHead = (text, chosen = false) => element("th", { scope: "row", class: `text measure${chosen ? " chosen" : ""}` }, ...broken(text));

/** The head of a system's row: where it is narrow, its name breaks between words. @param {number} system */
function rowHead(system) {
  const name = labelled(report.systems, system);
  name.replaceChildren(...broken(name.textContent ?? "", WORDS_OF_NAMES));
  return element("th", { scope: "row", class: "text", "data-system": String(system) }, name);
}

const FOLDED = ["board", "scores", "losses"];
const MOST_ROWS = 10; // of systems, before the others are folded
const unfolded = new Set();

/** Fold a table of many systems to the best ones and those compared, until all are asked for. @param {string} id */
function fold(id) {
  const rows = /** @type {HTMLTableRowElement[]} */ ([...byId(id).tBodies[0].rows]);
  const folded = rows.length > MOST_ROWS && !unfolded.has(id);
  rows.forEach((row, i) => row.classList.toggle("folded", folded && i >= MOST_ROWS && !row.querySelector(".a, .b")));
  byId(`${id}-all`).hidden = !folded;
  byId(`${id}-all`).textContent = `Show all ${counted(rows.length, "system")}`;
}

/** Highlight the two systems that are compared, wherever they are named. */
function markChosen() {
  const compared = report.systems.length > 1 ? [state.a, state.b] : [];
  for (const made of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-system]"))) {
    const side = compared.indexOf(Number(made.dataset.system));
    made.classList.toggle("a", side === 0);
    made.classList.toggle("b", side === 1);
  }
  FOLDED.forEach(fold);
  const table = byId("matrix");
  const before = table.querySelector("td.chosen");
  before?.classList.remove("chosen");
  table.querySelector("td[tabindex='0']")?.setAttribute("tabindex", "-1");
  const order = ordered(state.measure);
  const now = table.tBodies[0].rows[order.indexOf(state.a)]?.cells[order.indexOf(state.b) + 1];
  now?.classList.add("chosen");
  now?.setAttribute("tabindex", "0");
}

/** A heading that sorts. @param {string} text @param {boolean} on @param {boolean} down @param {() => void} sort @param {string} [kind] */
function sorter(text, on, down, sort, kind = "") {
  const button = element("button", { type: "button" }, ...broken(text));
  button.addEventListener("click", () => {
    sort();
    const heads = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("th button")]);
    heads.find((other) => other.textContent === text)?.focus(); // the table was rebuilt
  });
  return element("th", { scope: "col", class: kind, "aria-sort": on ? (down ? "descending" : "ascending") : "none" }, button,
    element("span", { class: "paper" }, ...broken(text))); // in print a heading is repeated on every page, but a button is not
}

/** Index of a pair among all pairs (1, 0), (2, 0) … (2, 1) …, and whether it is reversed there. @param {number} a @param {number} b */
function pairAt(a, b) {
  const [i, j] = a < b ? [a, b] : [b, a];
  return { index: i * report.systems.length - (i * (i + 1)) / 2 + (j - i - 1), reversed: a < b };
}

/** The decision about A − B, of all queries ("pair") or of a segment. @param {string} of @param {number} a @param {number} b @param {...number} where */
function decided(of, a, b, ...where) {
  const { index, reversed } = pairAt(a, b);
  const value = (/** @type {string} */ name) => arrays[`${of}_${name}`].at(...where, index);
  const minus = (/** @type {number | null} */ number) => (number === null ? null : -number);
  const verdict = /** @type {string} */ (report.verdicts[arrays[`${of}_verdict`].at(Number(reversed), ...where, index) ?? 0]);
  const [difference, low, high, p] = ["difference", "low", "high", "p"].map(value);
  return reversed ? { difference: minus(difference), low: minus(high), high: minus(low), p, verdict } : { difference, low, high, p, verdict };
}

/** Queries that A wins, ties and loses. @param {number} measure @param {number} a @param {number} b */
function countsOf(measure, a, b) {
  const { index, reversed } = pairAt(a, b);
  const counts = ["wins", "ties", "losses"].map((name) => arrays[`pair_${name}`].at(measure, index));
  return (reversed ? counts.reverse() : counts).join(" / ");
}

/** Whether one of the two is better. @param {string} verdict */
const toldApart = (verdict) => verdict === "better" || verdict === "worse";

/** How far the first of two systems is ahead, given its score less that of the other. @param {number} measure @param {number | null} difference */
const lead = (measure, difference) => (difference !== null && report.lower[measure] ? -difference : difference);

/** @param {number | null} p */
const pNumber = (p) => (p === 0 ? "< 0.0001" : shown(p));

/** @param {number | null} p */
const pText = (p) => (p === 0 ? `p ${pNumber(p)}` : `p = ${pNumber(p)}`);

/** Systems by their mean, best first. @param {number} measure */
const ordered = (measure) => /** @type {number[]} */ (report.orders[measure]);

/** What each level of a verdict or a check is called, and its sign: colour is never alone. @type {Record<string, [string, string]>} */
const LEVELS = {
  winner: ["✓", "Clear winner"], open: ["≈", "No clear winner"], single: ["•", "One system"], problem: ["✗", "Problem with the data"],
  good: ["✓", "fine"], unknown: ["?", "unknown"], caution: ["!", "look at this"],
};

/** @param {string} level @param {string} [text] */
const sign = (level, text = LEVELS[level][1]) => [element("span", { class: "sign", "aria-hidden": "true" }, LEVELS[level][0]), element("span", { class: "word" }, text)];

/** The conclusion by the selected measure, and what was checked for it. */
function showVerdict() {
  const found = report.cards[state.measure];
  byId("card").className = `card ${found.level}`;
  const winner = found.level === "winner" ? `: ${systemName(ordered(state.measure)[0], 48)}` : "";
  byId("level").replaceChildren(...sign(found.level, LEVELS[found.level][1] + winner));
  const words = withShortNames(found.sentence).split(/(?<= )/);
  byId("conclusion").replaceChildren(...words.flatMap((word) => (word.length > LONG_WORD ? broken(word, WORDS_OF_NAMES) : [word])));
  byId("by").textContent = withShortNames(found.by);
  byId("tests").textContent = withShortNames(report.tests);
  byId("health").replaceChildren(...report.checks[state.measure].map((/** @type {string[]} */ [name, level, value, text]) =>
    element("li", { class: level }, element("span", { class: "sign", "aria-hidden": "true" }, LEVELS[level][0]),
      element("span", {}, element("span", { class: "name" }, name, element("span", { class: "unseen" }, `, ${LEVELS[level][1]}: `)), " ", element("b", {}, value), element("small", {}, withShortNames(text))))));
  for (const button of byId("by-measure").querySelectorAll("button"))
    button.setAttribute("aria-pressed", String(Number(button.dataset.measure) === state.measure));
}

/** A button for each measure, with the level of its card. */
function makeByMeasure() {
  byId("by-measure").hidden = report.measures.length < 2;
  const clear = report.cards.filter((/** @type {any} */ { level }) => level === "winner").length;
  const counts = report.cards.some((/** @type {any} */ { level }) => level === "winner" || level === "open") ? `${clear ? `A clear winner by ${clear} of` : "No clear winner by any of"} ${counted(report.measures.length, "measure")}:` : "By measure:";
  byId("by-measure").append(counts, ...report.measures.map((/** @type {string} */ text, /** @type {number} */ measure) => {
    const { level } = report.cards[measure];
    const made = element("button", { type: "button", class: `chip ${level}`, "data-measure": String(measure) }, element("span", { class: "sign", "aria-hidden": "true" }, LEVELS[level][0]),
      element("span", {}, text, level === "winner" ? `: ${systemName(ordered(measure)[0], 24)}` : element("span", { class: "unseen" }, `: ${LEVELS[level][1]}`)));
    made.addEventListener("click", () => choose({ measure }));
    return made;
  }));
}

function showSentences() {
  document.title = report.title;
  byId("title").textContent = report.title;
  byId("subtitle").textContent = report.subtitle;
  const terms = (/** @type {[string, string][]} */ entries) => entries.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, folded(prose(text)))]);
  const short = report.systems.flatMap((/** @type {string} */ name, /** @type {number} */ s) => (label(report.systems, s) === visible(name) ? [] : [element("dd", {}, labelled(report.systems, s), " is ", element("bdi", {}, visible(name)))]));
  byId("facts").replaceChildren(...terms(report.facts), ...(short.length ? [element("dt", {}, "Names in full"), ...short] : []));
  byId("making").replaceChildren(...terms(report.made));
  byId("next").replaceChildren(element("h3", {}, "What to do next"), ...report.next.map((/** @type {string} */ text) => element("p", {}, withShortNames(text))));
  byId("next").hidden = !report.next.length;
  byId("notes").replaceChildren(...report.notes.map((/** @type {string} */ text) => element("li", {}, withShortNames(text))));
  byId("limits").hidden = !report.notes.length;
}

/** A text, to unfold where it is long: a command that names 63 files. @param {string} text */
const folded = (text) => (text.length > 600 ? element("details", {}, element("summary", {}, `${text.slice(0, 120)}…`), text) : text);

/** The leaderboard of the selected measure: means with intervals, and the ranks that the decisions leave. */
function showBoard() {
  const m = state.measure;
  const several = report.systems.length > 1;
  const rows = ordered(m).map((s) => {
    const mean = arrays.means.at(s, m) ?? 0;
    return { s, mean, low: arrays.lows.at(s, m) ?? mean, high: arrays.highs.at(s, m) ?? mean, known: arrays.means.at(s, m) !== null, bounded: arrays.lows.at(s, m) !== null };
  });
  const from = Math.min(...rows.map((row) => row.low));
  const to = Math.max(...rows.map((row) => row.high), from + 1e-6);
  const level = report.confidence;
  const made = rows.map(({ s, mean, low, high, known, bounded }) => {
    const [rank, first, last] = [0, 1, 2].map((part) => String(arrays.ranks.at(m, s, part)));
    const interval = bounded ? `[${shown(low)}, ${shown(high)}]` : "–";
    const drawn = cell(drawInterval({ mean, low, high }, from, to, `${shown(mean)} ${interval}`), "text span-cell");
    drawn.dataset.tip = `${systemName(s, 60)}: ${shown(mean)} ${interval}`;
    return element("tr", {}, cell(rank), rowHead(s), cell(known ? shown(mean) : "–"), drawn, cell(interval),
      ...(several ? [cell(first === last ? first : `${first}–${last}`), cell(first === "1" ? "yes" : "", "text")] : []));
  });
  const heads = [head("Rank"), head("System", "text"), head("Mean"), axisHead(from, to), head(`${level} interval`), ...(several ? [head("Rank is"), head("May be best", "text")] : [])];
  byId("board").className = isSmall() ? "small" : "";
  fillTable("board", `${report.measures[m]}: means over queries${several ? "; ranks lie below the systems that are better and above those that are worse" : ""}`, heads, made);
}

/** The heading of the intervals: the ends of their axis. @param {number} from @param {number} to */
const axisHead = (from, to) => element("th", { scope: "col", class: "span-cell" }, element("span", { class: "ends" }, element("span", {}, written(from, 2)), element("span", {}, written(to, 2))));

/** In how many of all pairs one system is better, in a measure. @param {number} measure */
function pairsTold(measure) {
  const pairs = arrays.pair_verdict.shape[2];
  const told = Array.from({ length: pairs }, (_, pair) => report.verdicts[arrays.pair_verdict.at(0, measure, pair) ?? 0]).filter(toldApart).length;
  return `${told.toLocaleString("en")} of ${pairs.toLocaleString("en")}`;
}

/** @param {string} id */
const widthOf = (id) => Math.max(300, Math.min(1060, byId(id).clientWidth || 700));

function showScores() {
  const best = report.measures.map((/** @type {string} */ _, /** @type {number} */ m) => arrays.means.at(ordered(m)[0], m));
  const sort = (/** @type {number} */ m) => () => { state.scoresBy = m; showScores(); markChosen(); };
  const heads = [head("System", "text"), ...report.measures.map((/** @type {string} */ text, /** @type {number} */ m) => sorter(text, state.scoresBy === m, true, sort(m), "measure"))];
  const rows = ordered(state.scoresBy).map((/** @type {number} */ s) =>
    element("tr", {}, rowHead(s), ...report.measures.map((/** @type {string} */ _, /** @type {number} */ m) => {
      const mean = arrays.means.at(s, m);
      const made = cell(shown(mean), mean !== null && report.systems.length > 1 && shown(mean) === shown(best[m]) ? "best" : "");
      if (arrays.lows.at(s, m) !== null) made.append(element("small", {}, `[${shown(arrays.lows.at(s, m), 3)}, ${shown(arrays.highs.at(s, m), 3)}]`));
      return made;
    })),
  );
  fillTable("scores", `Means over queries with ${report.confidence} intervals${report.systems.length > 1 ? "; the best of each measure in bold" : ""}`, heads, rows);
}

/** How far the runs of each system lie apart. */
function showRuns() {
  byId("runs-part").hidden = !report.runs;
  if (!report.runs) return;
  const rows = ordered(state.measure).map((s) => {
    /** @type {number[]} */ const runs = report.runs.of[s];
    const means = runs.map((run) => arrays.run_means.at(run, state.measure)).filter((mean) => mean !== null).sort((x, y) => x - y);
    return element("tr", {}, rowHead(s), cell(String(runs.length)), cell(shown(arrays.means.at(s, state.measure))), cell(shown(means[0] ?? null)), cell(shown(means[means.length - 1] ?? null)),
      cell(runs.map((run) => label(report.runs.names, run, 24)).join(", "), "prose"));
  });
  fillTable("runs", `Mean ${report.measures[state.measure]} over queries, of single runs`, [head("System", "text"), head("Runs"), head("Mean"), head("Lowest run"), head("Highest run"), head("Names", "text")], rows);
}

/** Scores against the true order behind judgments, where these were given. */
function showUncertain() {
  byId("uncertain-part").hidden = !report.uncertain;
  if (!report.uncertain) return;
  const { measure, level, scores, beats } = report.uncertain;
  const rows = scores.map((/** @type {number[]} */ [s, value, low, high]) => element("tr", {}, rowHead(s), cell(shown(value)), cell(`[${shown(low)}, ${shown(high)}]`)));
  fillTable("uncertain", `${measure} against the true order behind the judgments; ${level} intervals are of judgments and queries`, [head("System", "text"), head("Score"), head("Interval")], rows);
  const found = beats.find((/** @type {number[]} */ [a, b]) => (a === state.a && b === state.b) || (a === state.b && b === state.a));
  if (!found) return;
  const [first, second, fraction] = found;
  byId("beats").textContent = `${systemName(first)} beats ${systemName(second)} in ${Math.round(100 * fraction)}% of the draws.`;
}

/** Whether the matrix has so many systems that numbers replace their names on top. */
const isSmall = () => report.systems.length > 12;

/** Make the cells of the matrix once; another measure only changes their content, which is much faster. */
function makeMatrix() {
  const places = report.systems.map((/** @type {string} */ _, /** @type {number} */ i) => i);
  const inside = () => (isSmall() ? [""] : ["", element("small")]);
  const rows = places.map((/** @type {number} */ i) =>
    element("tr", {}, element("th", { scope: "row", class: "text" }),
      ...places.map((/** @type {number} */ j) => (i === j ? cell("–", "self") : element("td", {}, ...inside())))));
  fillTable("matrix", "Differences between all systems, best first", [head("Row − column", "text"), ...places.map(() => element("th", { scope: "col" }))], rows);
  document.body.classList.toggle("many", isSmall());
  byId("matrix").className = isSmall() ? "small" : "";
  byId("matrix").style.width = isSmall() ? `${11 + 2.5 * places.length}rem` : "";
}

function showMatrix() {
  const order = ordered(state.measure);
  const table = byId("matrix");
  byId("pairs-hint").replaceChildren(
    `Row minus column in ${report.measures[state.measure]}. Bold on a colour: the row is better or worse.`,
    report.margin === null ? "" : ` ≈: the same to within ${report.margin}.`,
    element("span", { class: "screen" }, " Select a pair with a click, or with the arrow keys and Enter."),
  );
  order.forEach((s, i) => {
    const name = report.systems[s];
    const top = table.tHead.rows[0].cells[i + 1];
    top.title = visible(name);
    top.replaceChildren(isSmall() ? String(i + 1) : labelled(report.systems, s, 16));
    if (isSmall()) top.setAttribute("aria-label", systemName(s, 48));
    const row = table.tBodies[0].rows[i];
    row.cells[0].dataset.system = String(s);
    row.cells[0].replaceChildren(isSmall() ? `${i + 1} ` : "", labelled(report.systems, s, isSmall() ? 22 : 30));
  });
  if (byId("matrix-part").open) fillMatrix(order); // thousands of cells, which few look at
}

const MOST_ON_PAPER = 250; // queries

/** @param {number[]} order */
function fillMatrix(order) {
  const cells = Array.from(byId("matrix").tBodies[0].rows, (/** @type {HTMLTableRowElement} */ row) => row.cells);
  order.forEach((s, i) => order.forEach((t, j) => i !== j && fillMatrixCell(cells[i][j + 1], s, t)));
}

/** Unchanged cells are left alone: layout takes most of the time. @param {HTMLTableCellElement} made @param {number} a @param {number} b */
function fillMatrixCell(made, a, b) {
  const { difference, p, verdict } = decided("pair", a, b, state.measure);
  const text = isSmall() ? signed(difference, 2).replace("0.", ".") : signed(difference);
  const kind = toldApart(verdict) || verdict === "same" ? verdict : "";
  const shownText = /** @type {Text} */ (made.firstChild);
  if (shownText.data !== text) shownText.data = text;
  if (!isSmall()) /** @type {Element} */ (made.lastChild).textContent = pText(p);
  if (made.className !== kind) made.className = kind;
}

/** The two systems of a cell. @param {EventTarget|null} target */
function pairAtCell(target) {
  const found = /** @type {HTMLTableCellElement|null} */ (/** @type {Element} */ (target).closest("#matrix td:not(.self)"));
  if (!found) return null;
  const order = ordered(state.measure);
  const row = /** @type {HTMLTableRowElement} */ (found.parentElement).sectionRowIndex;
  return { found, a: order[row], b: order[found.cellIndex - 1] };
}

function showPair() {
  const { a, b } = state;
  byId("pair-title").replaceChildren(element("span", { class: "a" }, labelled(report.systems, a)), " minus ", element("span", { class: "b" }, labelled(report.systems, b)), ", by every measure");
  const heads = [head("Measure", "text"), head("A"), head("B"), head("Difference"), head(`${report.confidence} interval`), head("A wins / ties / loses"), head(report.systems.length > 2 ? `p, ${report.correction}` : "p"), head("A is", "text")];
  const rows = report.measures.map((/** @type {string} */ text, /** @type {number} */ m) => {
    const found = decided("pair", a, b, m);
    return element("tr", {}, measureHead(text, m === state.measure),
      cell(shown(arrays.means.at(a, m))), cell(shown(arrays.means.at(b, m))), cell(signed(found.difference)),
      cell(`[${shown(found.low)}, ${shown(found.high)}]`), cell(countsOf(m, a, b)),
      cell(pNumber(found.p)), cell(found.verdict, toldApart(found.verdict) ? `text ${found.verdict}` : "text"));
  });
  const within = report.margin === null ? "" : `; same, not worse: to within ${report.margin}`;
  const several = report.systems.length > 2 ? `p-values (${report.correction}) and intervals are adjusted for all pairs of one measure` : `Intervals have confidence ${report.confidence}`;
  fillTable("pair", several + within, heads, rows);
}

function showLosses() {
  byId("loss-hint").replaceChildren(
    `Why each system scores less than 1 on ${report.explained}: relevant items that it does not return (retrieval), that it returns below the cutoff, or the order of the items above it. ${report.one_order}`,
    element("span", { class: "legend" }, key("i", "score"), " ", key("b", "lost by order"), " ", key("s", "lost by the cutoff"), " ", key("u", "lost by retrieval")));
  const score = (/** @type {number} */ s) => arrays.losses.at(s, 0) ?? 0;
  const rows = [...ordered(0)].sort((s, t) => score(t) - score(s)).map((/** @type {number} */ s) => {
    const [earned, retrieval, cutoff, order] = [0, 1, 2, 3].map((part) => arrays.losses.at(s, part) ?? 0);
    return element("tr", {}, rowHead(s), cell(lossBar(earned, retrieval, cutoff, order), "text"), ...[earned, order, cutoff, retrieval].map((part) => cell(written(part))));
  });
  const heads = ["Score", "Lost by order", "Lost by the cutoff", "Lost by retrieval"];
  fillTable("losses", "The score and the losses add up to 1", [head("System", "text"), head("Score and losses", "text"), ...heads.map((text) => head(text))], rows);
}

/** A bar of a score and what is lost. @param {number} earned @param {number} retrieval @param {number} cutoff @param {number} order */
function lossBar(earned, retrieval, cutoff, order) {
  const label = `score ${written(earned)}, order ${written(order)}, cutoff ${written(cutoff)}, retrieval ${written(retrieval)}`;
  const made = element("span", { class: "stack", role: "img", "aria-label": label, "data-tip": label });
  for (const [tag, fraction] of /** @type {[string, number][]} */ ([["i", earned], ["b", order], ["s", cutoff], ["u", retrieval]])) {
    const part = element(tag);
    part.style.width = `${100 * fraction}%`;
    made.append(part);
  }
  return made;
}

/** An entry of the legend, which stays on one line. @param {string} tag @param {string} text */
const key = (tag, text) => element("span", { class: "entry" }, element("span", { class: "key stack", "aria-hidden": "true" }, element(tag)), text);

function showMeasures() {
  byId("measures").hidden = !arrays.tau;
  if (!arrays.tau) return;
  byId("measures-hint").textContent = "Do the measures rank the systems alike? Kendall's τ over the systems' means; below it Pearson's r.";
  const heads = [head("Measure", "text"), head("Pairs told apart", "measure"), ...report.measures.map((/** @type {string} */ text) => head(text, "measure"))];
  const rows = report.measures.map((/** @type {string} */ text, /** @type {number} */ i) =>
    element("tr", {}, measureHead(text), cell(pairsTold(i)),
      ...report.measures.map((/** @type {string} */ _, /** @type {number} */ j) => {
        const made = cell(i === j ? "–" : shown(arrays.tau.at(i, j), 3));
        if (i !== j) made.append(element("small", {}, shown(arrays.r.at(i, j), 3)));
        return made;
      })));
  fillTable("agreement", "Agreement between measures: τ, and r in small", heads, rows);
}

/** Update everything that depends on the measure. */
function show() {
  byId("measure").value = String(state.measure);
  showVerdict();
  showBoard();
  showRuns();
  if (report.systems.length > 1) showMatrix();
  showPairChosen();
}

/** Update everything that depends on the two systems. */
function showPairChosen() {
  byId("a").value = String(state.a);
  byId("b").value = String(state.b);
  if (report.systems.length > 1) showPair();
  showUncertain();
  showSegments();
  markChosen();
  showQueries();
}

/** Write the state into the address; with `opens`, Back returns to what was shown before. @param {boolean} [opens] */
function remember(opens = false) {
  const link = new URLSearchParams();
  if (state.query >= 0) link.set("query", report.queries[state.query]);
  link.set("a", report.systems[state.a]);
  if (report.systems.length > 1) link.set("b", report.systems[state.b]);
  link.set("measure", report.measures[state.measure]);
  if (state.search) link.set("search", state.search);
  if (state.segment >= 0) link.set("segment", report.segments[state.segment].name);
  history[opens ? "pushState" : "replaceState"](opens ? { opened: state.query >= 0 } : history.state, "", `#${link}`);
}

/** Restore the state from a link, as far as the report has what it names. @param {string} hash */
function follow(hash) {
  if (!hash.includes("=")) return;
  const asked = new URLSearchParams(hash.replace(/^#/, ""));
  const find = (/** @type {string} */ name, /** @type {string[]} */ known, /** @type {number} */ otherwise) => {
    const at = known.indexOf(asked.get(name) ?? "");
    return at >= 0 ? at : otherwise;
  };
  state.measure = find("measure", report.measures, state.measure);
  const [a, b] = [find("a", report.systems, state.a), find("b", report.systems, state.b)];
  if (a !== b) [state.a, state.b] = [a, b];
  state.query = find("query", report.queries, -1);
  state.search = asked.get("search") ?? "";
  state.segment = find("segment", report.segments.map((/** @type {any} */ part) => part.name), -1);
}

/** @param {Partial<typeof state>} change */
function choose(change) {
  const before = { ...state };
  Object.assign(state, change);
  if (state.a === state.b) [state.a, state.b] = state.a === before.a ? [before.b, state.b] : [state.a, before.a]; // swap the two
  if ("measure" in change) show();
  else if ("a" in change || "b" in change) showPairChosen();
  else showQueries();
  remember("a" in change || "b" in change || "measure" in change || (state.query >= 0 && before.query < 0));
}

/** Numbers as nested lists. @param {Packed} array @param {number[]} place @returns {any} */
function nested(array, ...place) {
  if (place.length === array.shape.length) return array.at(...place);
  return Array.from({ length: array.shape[place.length] }, (_, i) => nested(array, ...place, i));
}

function download() {
  const everything = { ...report, playground: undefined, arrays: Object.fromEntries(Object.entries(arrays).map(([name, array]) => [name, nested(array)])) };
  save("report.json", new Blob([JSON.stringify(everything)], { type: "application/json" }));
}

/** @param {string} id @param {string[]} texts @param {(at: number) => void} pick */
function fillSelect(id, texts, pick) {
  byId(id).replaceChildren(...texts.map((_, i) => element("option", { value: String(i) }, label(texts, i))));
  byId(id).addEventListener("change", () => pick(Number(byId(id).value)));
}

function listen() {
  fillSelect("measure", report.measures, (measure) => choose({ measure }));
  fillSelect("a", report.systems, (a) => choose({ a }));
  fillSelect("b", report.systems, (b) => choose({ b }));
  byId("choices").addEventListener("submit", (/** @type {Event} */ event) => event.preventDefault());
  byId("download").addEventListener("click", download);
  byId("matrix").addEventListener("click", (/** @type {MouseEvent} */ event) => pickPair(event.target));
  byId("matrix").addEventListener("keydown", moveInMatrix);
  byId("matrix-part").addEventListener("toggle", showMatrix);
  byId("matrix").addEventListener("mouseover", (/** @type {MouseEvent} */ event) => {
    const pair = pairAtCell(event.target);
    if (!pair) return;
    const { difference, p, verdict } = decided("pair", pair.a, pair.b, state.measure);
    pair.found.title = `${systemName(pair.a, 48)} − ${systemName(pair.b, 48)}: ${signed(difference)}, ${pText(p)}, ${verdict}`;
  });
  window.addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details")) part.open = true;
    if (chosenQueries().length <= MOST_ON_PAPER) showRows(chosenQueries()); // paper has no next page of a table
  });
  window.addEventListener("afterprint", showQueries);
  window.addEventListener("popstate", () => {
    state.query = -1;
    follow(location.hash);
    show();
  });
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width || matchMedia("print").matches) return; // paper has its own rows
    width = window.innerWidth;
    showQueries();
  });
  listenToQueries();
  listenToTips();
}

/** @param {EventTarget|null} target */
function pickPair(target) {
  const pair = pairAtCell(target);
  if (!pair) return;
  choose({ a: pair.a, b: pair.b });
  byId("matrix").querySelector("td[tabindex='0']")?.focus({ preventScroll: true });
}

/** @param {KeyboardEvent} event */
function moveInMatrix(event) {
  const at = /** @type {HTMLTableCellElement} */ (event.target);
  const row = /** @type {HTMLTableRowElement|null} */ (at.closest("tbody tr"));
  if (!row || at.tagName !== "TD") return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    pickPair(at);
    return;
  }
  const [down, across] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [0, 0];
  const rows = byId("matrix").tBodies[0].rows;
  let [i, j] = [row.sectionRowIndex + down, at.cellIndex + across];
  if (i + 1 === j) [i, j] = [i + down, j + across]; // skip the diagonal
  const next = rows[i]?.cells[j];
  if ((!down && !across) || !next || next.tagName !== "TD") return;
  event.preventDefault();
  at.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

async function start() {
  ({ header: report, arrays } = await unpacked(JSON.parse(byId("data").textContent)));
  for (const part of document.querySelectorAll(".two")) /** @type {HTMLElement} */ (part).hidden = report.systems.length < 2;
  const [best, ...others] = ordered(0);
  const differs = (/** @type {number} */ other) => (decided("pair", best, other, 0).difference ?? 0) !== 0; // the same run may be submitted twice
  [state.a, state.b] = report.systems.length === 2 ? [1, 0] : [best, others.find(differs) ?? others[0] ?? best]; // candidate, baseline
  follow(location.hash);
  listen();
  showSentences();
  makeByMeasure();
  addTableTools();
  showMeasures();
  for (const part of document.querySelectorAll(".toolbar, #scores-part, #loss, #queries, #made, #compared")) /** @type {HTMLElement} */ (part).hidden = false;
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll(".toolbar nav a"))) link.hidden = byId(link.hash.slice(1)).hidden;
  for (const id of FOLDED) byId(`${id}-all`).addEventListener("click", () => { unfolded.add(id); fold(id); });
  const pairs = (report.systems.length * (report.systems.length - 1)) / 2;
  Object.assign(byId("matrix-part"), { open: pairs > 1 && report.systems.length <= MOST_ROWS, hidden: pairs < 2 });
  byId("pairs-hint").hidden = pairs < 2;
  byId("matrix-part").querySelector("summary").textContent = counted(pairs, "difference");
  showLosses();
  if (report.systems.length > 1) makeMatrix();
  showScores();
  show();
  void document.body.offsetHeight; // force the layout, so that the time to open includes it
  document.body.dataset.ready = String(Math.round(performance.now()));
  if (location.hash && !location.hash.includes("=")) byId(location.hash.slice(1))?.scrollIntoView();
}

start();
