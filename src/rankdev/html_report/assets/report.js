// @ts-check
// The report: state → page. All numbers were computed in Python; here they are only selected, sorted and filtered.

/** @type {any} */ let report;
/** Numbers by [measure], [system], [query] and so on. @type {Record<string, any>} */ let arrays;
const state = { measure: 0, a: 0, b: 1, query: -1, search: "", side: "all", segment: -1, sort: "difference", down: true, page: 0 };

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

const WORDS_OF_NAMES = /(?<=[_/:]|\.(?=\p{L}))(?=\S)/u; // where a long name breaks
/** @param {string} text @param {string} [kind] */
const head = (text, kind = "") => element("th", { scope: "col", class: kind }, ...broken(text));

/** @param {Node|string} content @param {string} [kind] */
const cell = (content, kind = "") => element("td", kind ? { class: kind } : {}, content);

/** @param {string} text @param {boolean} [chosen] */
const measureHead = (text, chosen = false) => element("th", { scope: "row", class: `text measure${chosen ? " chosen" : ""}` }, ...broken(text));

/** The short form of a name; different from all others. @param {string} name */
const short = (name) => (Object.hasOwn(report.short, name) ? report.short[name] : visible(name));

/** @param {number} system */
const systemName = (system) => short(report.systems[system]);

/** A name, isolated from the direction of the text next to it; in full as a title. @param {string} name */
function labelled(name) {
  const made = element("bdi", {}, ...broken(short(name), WORDS_OF_NAMES));
  if (short(name) !== name) made.title = visible(name);
  return made;
}

const MOST_ROWS = 10; // of systems, before the others are folded

/** Fold tables of many systems to the best ones and those compared, until all are asked for. */
function addFolds() {
  for (const part of report.systems.length > MOST_ROWS ? document.querySelectorAll(".of-systems") : []) {
    const button = element("button", { type: "button", class: "all screen" }, `Show all ${counted(report.systems.length, "system")}`);
    button.addEventListener("click", () => { part.classList.remove("folded"); button.remove(); });
    part.classList.add("folded");
    if (part.firstElementChild) part.after(button);
  }
}

/** Highlight the two systems that are compared, wherever they are named. */
function markChosen() {
  const compared = report.systems.length > 1 ? [state.a, state.b] : [];
  for (const made of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-system]"))) {
    const side = compared.indexOf(Number(made.dataset.system));
    made.classList.toggle("a", side === 0);
    made.classList.toggle("b", side === 1);
  }
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
  const at = (/** @type {string} */ name, /** @type {number[]} */ ...place) => place.reduce((part, i) => part[i], arrays[`${of}_${name}`]);
  const value = (/** @type {string} */ name) => at(name, ...where, index);
  const minus = (/** @type {number | null} */ number) => (number === null ? null : -number);
  const verdict = /** @type {string} */ (report.verdicts[at("verdict", Number(reversed), ...where, index)]);
  const [difference, low, high, p] = ["difference", "low", "high", "p"].map(value);
  return reversed ? { difference: minus(difference), low: minus(high), high: minus(low), p, verdict } : { difference, low, high, p, verdict };
}

/** Queries that A wins, ties and loses. @param {number} measure @param {number} a @param {number} b */
function countsOf(measure, a, b) {
  const { index, reversed } = pairAt(a, b);
  const [wins, ties, queries] = ["wins", "ties", "queries"].map((name) => arrays[`pair_${name}`][measure][index]);
  const counts = [wins, ties, queries - wins - ties];
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

/** Show the parts that are about the selected measure, as they were written. */
function showMeasure() {
  const view = report.views[state.measure];
  for (const [id, part] of [["card", view.card], ["health", view.health], ["board-view", view.board], ["runs-view", view.runs]]) byId(id).innerHTML = part;
  byId("chips").querySelectorAll("button").forEach((/** @type {HTMLElement} */ made, /** @type {number} */ m) => made.setAttribute("aria-pressed", String(m === state.measure)));
  const rows = new Map([...document.querySelectorAll("#scores tbody tr")].map((row) => [Number(/** @type {HTMLElement} */ (row.firstElementChild).dataset.system), row]));
  if (rows.size) byId("scores").tBodies[0].append(...ordered(state.measure).map((s) => rows.get(s)));
}

/** @param {string} id */
const widthOf = (id) => Math.max(300, Math.min(1060, byId(id).clientWidth || 700));

/** How often one of the two systems beats the other, where there are judgments behind the references. */
function showBeats() {
  const found = report.beats.find((/** @type {number[]} */ [a, b]) => (a === state.a && b === state.b) || (a === state.b && b === state.a));
  byId("beats").textContent = found ? `${systemName(found[0])} beats ${systemName(found[1])} in ${Math.round(100 * found[2])}% of the draws.` : "";
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
    top.replaceChildren(isSmall() ? String(i + 1) : labelled(report.systems[s]));
    if (isSmall()) top.setAttribute("aria-label", systemName(s));
    const row = table.tBodies[0].rows[i];
    row.cells[0].dataset.system = String(s);
    row.cells[0].replaceChildren(isSmall() ? `${i + 1} ` : "", labelled(report.systems[s]));
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
  byId("pair-title").replaceChildren(element("span", { class: "a" }, labelled(report.systems[a])), " minus ", element("span", { class: "b" }, labelled(report.systems[b])), ", by every measure");
  const heads = [head("Measure", "text"), head("A"), head("B"), head("Difference"), head(`${report.confidence} interval`), head("A wins / ties / loses"), head(report.systems.length > 2 ? `p, ${report.correction}` : "p"), head("A is", "text")];
  const rows = report.measures.map((/** @type {string} */ text, /** @type {number} */ m) => {
    const found = decided("pair", a, b, m);
    return element("tr", {}, measureHead(text, m === state.measure),
      cell(shown(arrays.means[a][m])), cell(shown(arrays.means[b][m])), cell(signed(found.difference)),
      cell(`[${shown(found.low)}, ${shown(found.high)}]`), cell(countsOf(m, a, b)),
      cell(pNumber(found.p)), cell(found.verdict, toldApart(found.verdict) ? `text ${found.verdict}` : "text"));
  });
  const within = report.margin === null ? "" : `; same, not worse: to within ${report.margin}`;
  const several = report.systems.length > 2 ? `p-values (${report.correction}) and intervals are adjusted for all pairs of one measure` : `Intervals have confidence ${report.confidence}`;
  fillTable("pair", several + within, heads, rows);
}

/** Update everything that depends on the measure. */
function show() {
  byId("measure").value = String(state.measure);
  showMeasure();
  if (report.systems.length > 1) showMatrix();
  showPairChosen();
}

/** Update everything that depends on the two systems. */
function showPairChosen() {
  byId("a").value = String(state.a);
  byId("b").value = String(state.b);
  if (report.systems.length > 1) showPair();
  showBeats();
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

function download() {
  save("report.json", new Blob([JSON.stringify({ ...report, playground: undefined, views: undefined, arrays })], { type: "application/json" }));
}

/** @param {string} id @param {string[]} texts @param {(at: number) => void} pick */
function fillSelect(id, texts, pick) {
  byId(id).replaceChildren(...texts.map((_, i) => element("option", { value: String(i) }, short(texts[i]))));
  byId(id).addEventListener("change", () => pick(Number(byId(id).value)));
}

function listen() {
  fillSelect("measure", report.measures, (measure) => choose({ measure }));
  byId("chips").querySelectorAll("button").forEach((/** @type {HTMLElement} */ made, /** @type {number} */ measure) => made.addEventListener("click", () => choose({ measure })));
  fillSelect("a", report.systems, (a) => choose({ a }));
  fillSelect("b", report.systems, (b) => choose({ b }));
  byId("choices").addEventListener("submit", (/** @type {Event} */ event) => event.preventDefault());
  byId("download").addEventListener("click", download);
  byId("matrix").addEventListener("click", (/** @type {MouseEvent} */ event) => pickPair(event.target));
  byId("matrix").addEventListener("keydown", moveInMatrix);
  byId("matrix-part").addEventListener("toggle", showMatrix);
  for (const kind of ["mouseover", "focusin"]) byId("matrix").addEventListener(kind, (/** @type {Event} */ event) => tellPair(event.target));
  for (const kind of ["mouseleave", "focusout"]) byId("matrix").addEventListener(kind, () => showTip("", 0, 0));
  window.addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details")) part.open = true;
    if (chosenQueries().length <= MOST_ON_PAPER) showRows(chosenQueries()); // paper has no next page of a table
  });
  window.addEventListener("afterprint", showQueries);
  const { measure, a, b } = state;
  window.addEventListener("popstate", () => {
    if (/^#[^=]+$/.test(location.hash)) return; // a section
    Object.assign(state, { measure, a, b }); // what the page opened with, unless the address has others
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
  for (const kind of ["keydown", "wheel", "touchmove"]) document.addEventListener(kind, () => showTip("", 0, 0), true); // before what a key shows
}

/** Say next to a cell what was decided about its pair: the table of the pair may be out of sight. @param {EventTarget|null} target */
function tellPair(target) {
  const pair = pairAtCell(target);
  if (!pair) return;
  const { difference, p, verdict } = decided("pair", pair.a, pair.b, state.measure);
  const { left, bottom } = pair.found.getBoundingClientRect();
  showTip(`${systemName(pair.a)} − ${systemName(pair.b)}: ${signed(difference)}, ${pText(p)}, ${verdict}`, left, bottom - 12);
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

/** Write out the arrays that are smaller as differences: limits, and scores of retrieval. */
function writeOut() {
  const far = (/** @type {number} */ value) => Number(value.toFixed(4));
  /** @param {any} difference @param {any} low how far it is below @param {any} high how much further above @returns {any} */
  const limits = (difference, low, high) => {
    if (!Array.isArray(difference)) return low === null ? [null, null] : [far(difference - low), far(difference + low + high)];
    const inside = difference.map((_, i) => limits(difference[i], low[i], high[i]));
    return [inside.map(([below]) => below), inside.map(([, above]) => above)];
  };
  for (const of of ["pair", "segment"]) {
    const [difference, low, high] = ["difference", "low", "high"].map((name) => arrays[`${of}_${name}`]);
    if (difference) [arrays[`${of}_low`], arrays[`${of}_high`]] = limits(difference, low, high);
  }
  arrays.retrieved = arrays.retrieved?.map((/** @type {(number | null)[][]} */ queries, /** @type {number} */ s) => queries.map((steps) => {
    let sum = 0;
    return steps.map((step) => (step === null ? null : (sum += step) / arrays.retrieved_units[s]));
  }));
}

async function start() {
  const bytes = Uint8Array.from(atob(JSON.parse(byId("data").textContent)), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  [report, arrays] = await new Response(stream).json();
  writeOut();
  for (const part of document.querySelectorAll(".two")) /** @type {HTMLElement} */ (part).hidden = report.systems.length < 2;
  [state.a, state.b] = report.pair;
  listen();
  follow(location.hash);
  addFolds();
  addTableTools();
  for (const part of document.querySelectorAll(".toolbar, #all-queries, #download")) /** @type {HTMLElement} */ (part).hidden = false;
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll(".toolbar nav a"))) link.hidden = !byId(link.hash.slice(1)).checkVisibility();
  const pairs = (report.systems.length * (report.systems.length - 1)) / 2;
  Object.assign(byId("matrix-part"), { open: pairs > 1 && report.systems.length <= MOST_ROWS, hidden: pairs < 2 });
  byId("pairs-hint").hidden = pairs < 2;
  byId("matrix-part").querySelector("summary").textContent = counted(pairs, "difference");
  if (report.systems.length > 1) makeMatrix();
  show();
  void document.body.offsetHeight; // force the layout, so that the time to open includes it
  document.body.dataset.ready = String(Math.round(performance.now()));
  if (location.hash && !location.hash.includes("=")) byId(location.hash.slice(1))?.scrollIntoView();
}

start();
