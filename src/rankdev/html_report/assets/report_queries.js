// @ts-check
// The queries: searched, sorted, drawn, and opened one by one.

const PAGE = 25;
const COLLATOR = new Intl.Collator("en", { numeric: true });
/** @param {Record<string, string>} texts @param {string} id any text, even the name of a property that every object has */
const textOf = (texts, id) => (Object.hasOwn(texts, id) ? texts[id] : "");

const SIDES = ["all", "A better", "B better", "equal"];

/** @type {{of: string, values: (number | null)[]}} */ let known = { of: "", values: [] };

/** The difference of the two systems. @param {number} query @returns {number | null} */
function differenceOf(query) {
  const of = `${state.measure} ${state.a} ${state.b}`;
  if (known.of !== of) known = { of, values: report.queries.map((/** @type {string} */ _, /** @type {number} */ q) => computed(q)) };
  return known.values[query];
}

/** @param {number} query @returns {number | null} */
function computed(query) {
  const [a, b] = [arrays.scores.at(state.measure, state.a, query), arrays.scores.at(state.measure, state.b, query)];
  return a === null || b === null ? null : a - b;
}

/** @param {number} query @returns {string | number} */
function sortKey(query) {
  if (state.sort === "query") return report.queries[query];
  if (state.sort === "size") return arrays.reference_sizes.at(query, 1) ?? 0;
  const value = state.sort === "difference" && report.systems.length > 1 ? differenceOf(query) : arrays.scores.at(state.measure, state.sort === "b" ? state.b : state.a, query);
  return value ?? (state.down ? -Infinity : Infinity);
}

/** The queries that pass the filters, in the selected order. */
function chosenQueries() {
  const wanted = state.search.toLowerCase();
  const inside = state.segment < 0 ? null : new Set(report.segments[state.segment].queries);
  /** @type {number[]} */ const found = [];
  for (let query = 0; query < report.queries.length; query++) {
    const text = textOf(report.query_texts, report.queries[query]);
    if (inside && !inside.has(query)) continue;
    if (wanted && !report.queries[query].toLowerCase().includes(wanted) && !text.toLowerCase().includes(wanted)) continue;
    const difference = differenceOf(query);
    const side = difference === null ? "" : Math.abs(difference) < 1e-6 ? "equal" : (lead(state.measure, difference) ?? 0) > 0 ? "A better" : "B better";
    if (state.side === "all" || state.side === side) found.push(query);
  }
  const keys = new Map(found.map((query) => [query, sortKey(query)]));
  const sign = state.down ? -1 : 1;
  const compare = (/** @type {any} */ x, /** @type {any} */ y) => (typeof x === "string" ? COLLATOR.compare(x, y) : x < y ? -1 : x > y ? 1 : 0);
  return found.sort((x, y) => sign * compare(keys.get(x), keys.get(y)) || x - y);
}

/** @type {string[]} */ let NAMES_OF_SEGMENTS = [];
const segmentNames = () => (NAMES_OF_SEGMENTS.length ? NAMES_OF_SEGMENTS : (NAMES_OF_SEGMENTS = report.segments.map((/** @type {any} */ part) => part.name)));

function showSegments() {
  byId("segments-part").hidden = byId("segment-label").hidden = !report.segments.length;
  if (!report.segments.length) return;
  const tested = report.tested_segments.length > 0;
  const order = ordered(state.measure);
  const some = order.slice(0, tested ? 6 : 12);
  for (const system of [state.a, state.b]) if (!some.includes(system)) some.push(system);
  const heads = [head("Segment", "text"), head("Queries"), ...some.map((/** @type {number} */ s) => element("th", { scope: "col", class: "measure", "data-system": String(s) }, labelled(report.systems, s, 30))), ...(tested ? [head("A − B"), head(`${report.confidence} interval`), head(`p, ${report.correction}`), head("A is", "text")] : [])];
  const rows = report.segments.map((/** @type {any} */ part, /** @type {number} */ i) => {
    const means = some.map((s) => arrays.segment_means.at(i, s, state.measure));
    const best = lead(state.measure, Math.max(...means.map((mean) => lead(state.measure, mean) ?? -Infinity)));
    return element("tr", {}, element("th", { scope: "row", class: "text" }, labelled(segmentNames(), i)), cell(String(part.size)),
      ...means.map((mean) => cell(shown(mean), mean === best && means.length > 1 ? "best" : "")), ...(tested ? segmentTest(part.name) : []));
  });
  const left = order.length > some.length ? `; ${some.length} of ${order.length} systems` : "";
  fillTable("segments", `Mean ${report.measures[state.measure]} by segment${left}; the best in bold${tested ? "; tests of A and B are corrected for all pairs and segments" : ""}`, heads, rows);
}

/** The decision about the two systems on one segment; empty cells where it has too few queries. @param {string} name */
function segmentTest(name) {
  const at = report.tested_segments.indexOf(name);
  if (at < 0) return [cell("–"), cell("–"), cell("–"), cell("–", "text")];
  const { difference, low, high, p, verdict } = decided("segment", state.a, state.b, at, state.measure);
  return [cell(signed(difference)), cell(`[${shown(low)}, ${shown(high)}]`), cell(pNumber(p)), cell(verdict, toldApart(verdict) ? `text ${verdict}` : "text")];
}

function showQueries() {
  const found = chosenQueries();
  const pages = Math.max(1, Math.ceil(found.length / PAGE));
  state.page = Math.min(state.page, pages - 1);
  byId("search").value = state.search;
  byId("side").value = String(SIDES.indexOf(state.side));
  byId("segment").value = String(state.segment + 1);
  byId("found").textContent = `${found.length.toLocaleString("en")} of ${counted(report.queries.length, "query")}`;
  byId("at").textContent = `${state.page + 1} of ${pages}`;
  byId("before").disabled = state.page === 0;
  byId("after").disabled = state.page >= pages - 1;
  byId("pager").hidden = pages === 1;
  showRows(found.slice(state.page * PAGE, (state.page + 1) * PAGE));
  byId("differences-title").hidden = report.systems.length < 2;
  if (report.systems.length > 1) showDifferences(found);
  showQuery(found);
}

/** The headings and rows of some queries. @param {number[]} queries */
function rowsOf(queries) {
  const [a, b] = [systemName(state.a, 24), systemName(state.b, 24)];
  const texts = Object.keys(report.query_texts).length > 0;
  const several = report.systems.length > 1;
  const by = (/** @type {string} */ text, /** @type {string} */ sort, kind = "") =>
    sorter(text, state.sort === sort, state.down, () => choose({ sort, down: state.sort === sort ? !state.down : sort !== "query", page: 0 }), kind);
  const heads = [by("Query", "query", "text"), ...(texts ? [head("Text", "text")] : []), by(several ? `A: ${a}` : a, several ? "a" : "difference", several ? "of-a" : ""), ...(several ? [by(`B: ${b}`, "b", "of-b"), by("A − B", "difference")] : []), by("Reference items", "size")];
  const rows = queries.map((query) => {
    const scores = (several ? [state.a, state.b] : [state.a]).map((s) => cell(shown(arrays.scores.at(state.measure, s, query))));
    const text = textOf(report.query_texts, report.queries[query]);
    return element("tr", query === state.query ? { class: "open-query" } : {}, element("th", { scope: "row", class: "text" }, queryLink(query)),
      ...(texts ? [cell(element("bdi", {}, prose(text)), "prose")] : []), ...scores, ...(several ? [cell(signed(differenceOf(query)))] : []), cell(String(arrays.reference_sizes.at(query, 1))));
  });
  return { caption: `Scores on ${report.measures[state.measure]}`, heads, rows };
}

/** @param {number[]} queries */
function showRows(queries) {
  const { caption, heads, rows } = rowsOf(queries);
  fillTable("rows", caption, heads, rows);
  byId("rows").caption.append(element("span", { class: "screen" }, "; select a query to see its lists"));
}

/** All queries that pass the filters, as one table. */
function wholeRows() {
  const { caption, heads, rows } = rowsOf(chosenQueries());
  return /** @type {HTMLTableElement} */ (element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows)));
}

/** @param {number} query @param {string} [text] to show next to its id */
function queryLink(query, text = "") {
  const made = element("button", { type: "button", class: "link" }, labelled(report.queries, query, 48), text ? element("bdi", {}, ` ${brief(prose(text), 60)}`) : "");
  made.addEventListener("click", () => openQuery(query));
  return made;
}

/** @param {number} query */
function openQuery(query) {
  choose({ query });
  byId("query-title").focus({ preventScroll: true });
  byId("query").scrollIntoView({ block: "start" });
}

/** @param {number[]} found */
function showDifferences(found) {
  const present = found.filter((query) => differenceOf(query) !== null);
  const lower = report.lower[state.measure];
  const value = (/** @type {number} */ query) => lead(state.measure, differenceOf(query)) ?? 0;
  const sorted = state.sort === "difference" && state.down !== lower ? present : [...present].sort((x, y) => value(y) - value(x));
  const values = sorted.map((query) => differenceOf(query) ?? 0);
  const better = sorted.filter((query) => value(query) > 1e-6).length;
  const worse = sorted.filter((query) => value(query) < -1e-6).length;
  const [a, b] = [systemName(state.a), systemName(state.b)];
  byId("differences-title").textContent = `${a} is better on ${better}, ${b} on ${worse} of ${counted(values.length, "query")} on ${report.measures[state.measure]}`;
  const described = `Differences ${a} minus ${b}, ${lower ? "smallest" : "largest"} first, from ${signed(values[0] ?? 0)} to ${signed(values[values.length - 1] ?? 0)}; the numbers are in the table below`;
  const tipOf = (/** @type {number} */ i) => {
    const [mine, other] = [state.a, state.b].map((system) => shown(arrays.scores.at(state.measure, system, sorted[i])));
    const text = textOf(report.query_texts, report.queries[sorted[i]]);
    return `${label(report.queries, sorted[i], 60)}${text && ` (${brief(prose(text), 60)})`}: A ${mine}, B ${other}, difference ${signed(values[i])}`;
  };
  byId("differences").replaceChildren(better + worse ? drawDifferences(values, lower, sorted.indexOf(state.query), widthOf("differences"), described, (i) => openQuery(sorted[i]), tipOf) : "");
  const texts = Object.keys(report.query_texts).length > 0; // a line for each
  const links = (/** @type {number[]} */ some) => some.flatMap((query, i) => [texts ? element("br") : i ? ", " : " ", queryLink(query, textOf(report.query_texts, report.queries[query]))]);
  const most = sorted.slice(0, 3).filter((query) => value(query) > 1e-6);
  const least = sorted.slice(-3).reverse().filter((query) => value(query) < -1e-6);
  const parts = [];
  if (most.length) parts.push(`Largest differences in favour of ${a}:`, ...links(most), texts ? element("br") : ". ");
  if (least.length) parts.push(`Largest differences in favour of ${b}:`, ...links(least), texts ? "" : ".");
  byId("contrasts").replaceChildren(...parts);
}

/** @param {number[]} found */
function showQuery(found) {
  const { query } = state;
  byId("query").hidden = query < 0;
  if (query < 0) return;
  const id = report.queries[query];
  byId("query-title").replaceChildren("Query ", labelled(report.queries, query, 80));
  byId("query-text").replaceChildren(element("bdi", {}, prose(textOf(report.query_texts, id))));
  const at = found.indexOf(query);
  byId("query-before").disabled = at <= 0;
  byId("query-after").disabled = at < 0 || at >= found.length - 1;
  const several = report.systems.length > 1;
  const systems = several ? [state.a, state.b] : [state.a];
  byId("query-scores").replaceChildren(scoresOfQuery(query, systems));
  byId("lists").replaceChildren(referenceOf(query), ...systems.map((system, i) => listOf(query, system, several ? "ab"[i] : "")));
  byId("where").textContent = "Point at an item, or select one with the arrow keys, to see where it is in each list.";
}

/** @param {number} query @param {number[]} systems */
function scoresOfQuery(query, systems) {
  const heads = [head("Measure", "text"), ...systems.map((s, i) => element("th", { scope: "col", class: systems.length > 1 ? "ab"[i] : "" }, labelled(report.systems, s, 24)))];
  const rows = report.measures.map((/** @type {string} */ text, /** @type {number} */ m) => element("tr", {}, measureHead(text), ...systems.map((s) => cell(shown(arrays.scores.at(m, s, query))))));
  const table = element("table", {}, element("caption", {}, "Scores of this query"), element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Scores of this query" }, table, tableTools(() => /** @type {HTMLTableElement} */ (table), "query-scores"));
}

/** What can be said of an item in a list, and its sign. @type {Record<string, string>} */
const SIGNS = { "in its place": "✓", displaced: "↕", nonrelevant: "✗", unjudged: "?", "not in the reference": "✗", repeated: "↻", missing: "∅", "not returned": "∅", "below the positions shown": "↓" };

/** @param {string} kind */
const signOf = (kind) => element("span", { class: `kind ${kind.replaceAll(" ", "-")}`, "aria-hidden": "true", "data-sign": SIGNS[kind] ?? "" });

function showLegend() {
  const seen = new Set(Array.from({ length: arrays.outcomes.shape[1] }, (_, code) => report.kinds[arrays.outcomes.at(2, code) ?? 0]));
  const present = report.kinds.filter((/** @type {string} */ kind) => seen.has(kind) && kind !== "missing");
  byId("legend").replaceChildren(...[...present, "not returned"].flatMap((/** @type {string} */ kind) => [element("span", {}, signOf(kind), ` ${kind}`), " "]));
}

/** @param {(Node|string)[]} title @param {string} called @param {string} caption @param {Node[]} heads @param {Node[][]} bodies */
function listTable(title, called, caption, heads, bodies) {
  const parts = bodies.map((rows, i) => element("tbody", i ? { class: "elsewhere" } : {}, ...rows));
  const table = element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...heads)), ...parts);
  const first = table.querySelector("tr[data-item]");
  first?.setAttribute("tabindex", "0");
  return element("div", { tabindex: "0", role: "region", "aria-label": brief(called) }, element("h4", {}, ...title), table, tableTools(() => /** @type {HTMLTableElement} */ (table), fileName(called)));
}

/** @param {string} text */
const fileName = (text) => `query-${text.replace(/[^\w.-]+/g, "-").slice(0, 40)}`;

/** A row about an item, which can be pointed at. @param {number} place @param {...Node} cells */
const itemRow = (place, ...cells) => element("tr", place < 0 ? {} : { "data-item": String(place), tabindex: "-1" }, ...cells);

/** An item by its id, its text where there is one, and what is to be said of it. @param {number} query @param {number} place @param {string} [kind] */
function itemOf(query, place, kind = "") {
  const id = report.pools[query][place];
  const made = element("td", { class: "item" }, ...(kind ? [signOf(kind)] : []), labelled(report.pools[query], place, 60));
  const text = textOf(report.texts, id);
  if (text) made.append(element("small", {}, element("bdi", {}, prose(text))));
  if (kind) made.append(" ", element("small", { class: "state" }, kind));
  return made;
}

/** @param {number} query */
function referenceOf(query) {
  const [count, all] = [arrays.reference_sizes.at(query, 0) ?? 0, arrays.reference_sizes.at(query, 1) ?? 0];
  const ranks = arrays.reference_ranks;
  const rows = Array.from({ length: count }, (_, i) => itemRow(i, element("th", { scope: "row" }, String(ranks.at(query, i))), itemOf(query, i)));
  if (all > count) rows.push(element("tr", {}, cell(""), cell(`and ${all - count} more`, "item")));
  return listTable(["Reference"], "Reference", "Relevant items, best first; items with the same rank are tied", [head("Rank", "text"), head("Item", "text")], [rows]);
}

/** The positions of a list. @param {number} query @param {number} system */
function positionsOf(query, system) {
  return Array.from({ length: arrays.items.shape[2] }, (_, i) => {
    const code = arrays.outcome.at(system, query, i) ?? 0;
    const [rank, ideal, kind, ...parts] = [0, 1, 2, 3, 4, 5].map((part) => arrays.outcomes.at(part, code) ?? 0);
    const [credit, earned, lost] = parts.map((part) => part / 1e4);
    return { place: arrays.items.at(system, query, i) ?? -1, rank, ideal, kind: report.kinds[kind], credit, earned, lost, attainable: earned + Math.max(0, lost), weight: arrays.weights.at(i) ?? 0 };
  });
}

/** @param {number} query @param {number} system @param {string} side "a", "b" or empty */
function listOf(query, system, side) {
  const positions = positionsOf(query, system);
  const most = Math.max(1e-9, ...positions.map((entry) => entry.attainable));
  const rows = positions.flatMap((entry, i) => {
    if (entry.place < 0 && entry.lost === 0) return [];
    const item = entry.place < 0 ? element("td", { class: "item" }, signOf("missing"), "(nothing)") : itemOf(query, entry.place, entry.kind);
    const label = `${written(entry.earned)} of ${written(entry.attainable)}`;
    return [itemRow(entry.place, element("th", { scope: "row" }, String(i + 1)), item, cell(`${entry.rank || "–"} / ${entry.ideal}`), cell(String(entry.weight)),
      cell(written(entry.credit, 2)), cell(bar(entry.earned / most, entry.attainable / most, label)), cell(written(entry.lost)))];
  });
  const heads = [head("#"), head("Item", "text"), head("Rank / ideal"), head("Weight"), head("Credit"), head("Gained", "text"), head("Lost")];
  const caption = `${report.explained} position by position. Ideal: the rank that belongs at this position. ${report.one_order}`.trim();
  const name = element("span", { class: side }, labelled(report.systems, system));
  const made = listTable([name], report.systems[system], caption, heads, [rows, elsewhere(query, system, positions.length)]);
  made.classList.add(...(side ? [side] : []));
  const link = playgroundLink(query, positions);
  if (link !== null) {
    const button = element("button", { type: "button", class: "tool" }, "Try it in the playground");
    button.addEventListener("click", () => window.open(playgroundPage() + link));
    made.querySelector(".tools")?.append(" ", button);
  }
  const [earned, retrieval, cutoff, order] = [0, 1, 2, 3].map((part) => arrays.query_losses.at(system, query, part));
  if (earned !== null && retrieval !== null && cutoff !== null && order !== null) {
    const texts = [["Lost by order", order], ["the cutoff", cutoff], ["retrieval", retrieval]].map(([text, value]) => `${text} ${written(Number(value))}`);
    made.insertBefore(element("p", { class: "hint losses" }, lossBar(earned, retrieval, cutoff, order), texts.join(", ")), made.querySelector("table"));
  }
  return made;
}

let playground = ""; // the address of the one that the report holds, once it was opened

function playgroundPage() {
  playground ||= URL.createObjectURL(new Blob([report.playground.page], { type: "text/html" }));
  return playground;
}

/** The list and its reference as a link to the playground; null where it would score another list than this one.
 *  @param {number} query @param {ReturnType<typeof positionsOf>} positions */
function playgroundLink(query, positions) {
  const [count, all] = [arrays.reference_sizes.at(query, 0) ?? 0, arrays.reference_sizes.at(query, 1) ?? 0];
  const returned = positions.filter((entry) => entry.place >= 0);
  const names = [...Array.from({ length: count }, (_, i) => i), ...returned.map((entry) => entry.place)].map((place) => report.pools[query][place]);
  const known = names.every((name) => name === name.trim() && name.length <= 60);
  if (!report.playground || count < all || !count || !known || returned.some((entry) => entry.kind === "repeated")) return null;
  const list = (/** @type {number[]} */ places) => places.map((place) => encodeURIComponent(report.pools[query][place])).join(",");
  /** @type {number[][]} */
  const tiers = [];
  for (let i = 0; i < count; i++) {
    if (i && arrays.reference_ranks.at(query, i) === arrays.reference_ranks.at(query, i - 1)) tiers[tiers.length - 1].push(i);
    else tiers.push([i]);
  }
  const poor = returned.filter((entry) => entry.kind === "nonrelevant");
  const parts = { reference: tiers.map(list).join(";"), nonrelevant: list(poor.map((entry) => entry.place)), ranking: list(returned.map((entry) => entry.place)) };
  return `#${new URLSearchParams({ ...parts, ...report.playground.settings })}`;
}

/** Reference items that a list returns below the positions that are shown, or not at all.
 *  @param {number} query @param {number} system @param {number} depth */
function elsewhere(query, system, depth) {
  const items = Array.from({ length: arrays.reference_sizes.at(query, 0) ?? 0 }, (_, i) => ({ i, rank: arrays.reference_ranks.at(query, i), at: arrays.found_at.at(system, query, i) ?? 0 }));
  const row = (/** @type {typeof items[0]} */ { i, rank, at }) =>
    itemRow(i, element("th", { scope: "row" }, at ? String(at) : "–"), itemOf(query, i, at ? "below the positions shown" : "not returned"), cell(String(rank)), element("td", { colspan: "4" }));
  const below = items.filter((item) => item.at > depth).sort((one, other) => one.at - other.at);
  return [...below, ...items.filter((item) => !item.at)].map(row);
}

/** Mark an item in the reference and in both lists, and state where it is. @param {EventTarget|null} target */
function markItem(target) {
  const row = /** @type {HTMLElement|null} */ (/** @type {Element} */ (target).closest("#lists tr[data-item]"));
  if (!row) return;
  const place = Number(row.dataset.item);
  for (const other of /** @type {NodeListOf<HTMLElement>} */ (byId("lists").querySelectorAll("tr[data-item]"))) other.classList.toggle("marked", Number(other.dataset.item) === place);
  const { query } = state;
  const inside = place < (arrays.reference_sizes.at(query, 0) ?? 0);
  const systems = report.systems.length > 1 ? [state.a, state.b] : [state.a];
  const listed = systems.map((system, i) => {
    const shownAt = positionsOf(query, system).findIndex((entry) => entry.place === place) + 1;
    const at = shownAt || (inside ? arrays.found_at.at(system, query, place) ?? 0 : 0);
    const where = at ? `position ${at}` : inside ? "not returned" : `not in the first ${arrays.items.shape[2]}`;
    return report.systems.length > 1 ? `${"AB"[i]}, ${where}` : where;
  });
  const rank = inside ? `rank ${arrays.reference_ranks.at(query, place)} in the reference` : "not in the reference";
  byId("where").replaceChildren(labelled(report.pools[query], place, 80), `: ${[rank, ...listed].join("; ")}`);
}

/** @param {KeyboardEvent} event */
function moveInList(event) {
  const row = /** @type {HTMLElement|null} */ (/** @type {Element} */ (event.target).closest("tr[data-item]"));
  if (!row || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) return;
  const rows = /** @type {HTMLElement[]} */ ([.../** @type {Element} */ (row.closest("table")).querySelectorAll("tr[data-item]")]);
  const next = rows[rows.indexOf(row) + (event.key === "ArrowDown" ? 1 : -1)];
  if (!next) return;
  event.preventDefault();
  row.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function listenToQueries() {
  fillSelect("side", ["all queries", `A better`, `B better`, "equal"], (i) => choose({ side: SIDES[i], page: 0 }));
  fillSelect("segment", ["all", ...report.segments.map((/** @type {any} */ part) => part.name)], (i) => choose({ segment: i - 1, page: 0 }));
  byId("search").addEventListener("input", () => {
    Object.assign(state, { search: byId("search").value, page: 0 });
    showQueries();
    remember();
  });
  showLegend();
  for (const kind of ["mouseover", "focusin", "click"]) byId("lists").addEventListener(kind, (/** @type {Event} */ event) => markItem(event.target));
  byId("lists").addEventListener("keydown", moveInList);
  byId("filters").addEventListener("submit", (/** @type {Event} */ event) => event.preventDefault());
  byId("before").addEventListener("click", () => choose({ page: state.page - 1 }));
  byId("after").addEventListener("click", () => choose({ page: state.page + 1 }));
  byId("query-close").addEventListener("click", () => {
    choose({ query: -1 });
    byId("search").focus();
  });
  for (const [id, step] of /** @type {[string, number][]} */ ([["query-before", -1], ["query-after", 1]])) {
    byId(id).addEventListener("click", () => {
      const found = chosenQueries();
      choose({ query: found[found.indexOf(state.query) + step] });
    });
  }
}
