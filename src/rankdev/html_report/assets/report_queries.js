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
    const side = difference === null ? "" : Math.abs(difference) < 1e-6 ? "equal" : difference > 0 ? "A better" : "B better";
    if (state.side === "all" || state.side === side) found.push(query);
  }
  const keys = new Map(found.map((query) => [query, sortKey(query)]));
  const sign = state.down ? -1 : 1;
  const compare = (/** @type {any} */ x, /** @type {any} */ y) => (typeof x === "string" ? COLLATOR.compare(x, y) : x < y ? -1 : x > y ? 1 : 0);
  return found.sort((x, y) => sign * compare(keys.get(x), keys.get(y)) || x - y);
}

function showSegments() {
  byId("segments-part").hidden = byId("segment-label").hidden = !report.segments.length;
  if (!report.segments.length) return;
  const order = ordered(state.measure);
  const some = order.slice(0, 12);
  for (const system of [state.a, state.b]) if (!some.includes(system)) some.push(system);
  const heads = [head("Segment", "text"), head("Queries"), ...some.map((/** @type {number} */ s) => element("th", { scope: "col", class: "measure" }, named(report.systems[s], 30)))];
  const rows = report.segments.map((/** @type {any} */ part, /** @type {number} */ i) => {
    const means = some.map((s) => arrays.segment_means.at(i, s, state.measure));
    const best = Math.max(...means.map((mean) => mean ?? -Infinity));
    return element("tr", {}, element("th", { scope: "row", class: "text" }, named(part.name)), cell(String(part.size)),
      ...means.map((mean) => cell(shown(mean), mean === best && means.length > 1 ? "best" : "")));
  });
  const left = order.length > some.length ? `; ${some.length} of ${order.length} systems` : "";
  fillTable("segments", `Mean ${report.measures[state.measure]} by segment${left}; the best in bold`, heads, rows);
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
  showRows(found.slice(state.page * PAGE, (state.page + 1) * PAGE));
  if (report.systems.length > 1) showDifferences(found);
  showQuery(found);
}

/** @param {number[]} queries */
function showRows(queries) {
  const [a, b] = [report.systems[state.a], report.systems[state.b]].map((name) => brief(name, 24));
  const texts = Object.keys(report.query_texts).length > 0;
  const several = report.systems.length > 1;
  const by = (/** @type {string} */ text, /** @type {string} */ sort, kind = "") =>
    sorter(text, state.sort === sort, state.down, () => choose({ sort, down: state.sort === sort ? !state.down : sort !== "query", page: 0 }), kind);
  const heads = [by("Query", "query", "text"), ...(texts ? [head("Text", "text")] : []), by(several ? `A: ${a}` : a, several ? "a" : "difference"), ...(several ? [by(`B: ${b}`, "b"), by("A − B", "difference")] : []), by("Reference items", "size")];
  const rows = queries.map((query) => {
    const scores = (several ? [state.a, state.b] : [state.a]).map((s) => cell(shown(arrays.scores.at(state.measure, s, query))));
    const text = textOf(report.query_texts, report.queries[query]);
    return element("tr", query === state.query ? { class: "open" } : {}, element("th", { scope: "row", class: "text" }, queryLink(query)),
      ...(texts ? [cell(element("bdi", {}, prose(text)), "prose")] : []), ...scores, ...(several ? [cell(signed(differenceOf(query)))] : []), cell(String(arrays.reference_sizes.at(query, 1))));
  });
  fillTable("rows", `Scores on ${report.measures[state.measure]}; select a query to see its lists`, heads, rows);
}

/** @param {number} query */
function queryLink(query) {
  const made = element("button", { type: "button", class: "link" }, named(report.queries[query]));
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
  const value = (/** @type {number} */ query) => differenceOf(query) ?? 0;
  const sorted = state.sort === "difference" && state.down ? present : [...present].sort((x, y) => value(y) - value(x));
  const values = sorted.map(value);
  const better = values.filter((difference) => difference > 1e-6).length;
  const worse = values.filter((difference) => difference < -1e-6).length;
  const [a, b] = [brief(report.systems[state.a], 30), brief(report.systems[state.b], 30)];
  byId("differences-title").textContent = `${a} is better on ${better}, ${b} on ${worse} of ${counted(values.length, "query")} on ${report.measures[state.measure]}`;
  const label = `Differences ${a} minus ${b}, largest first, from ${signed(values[0] ?? 0)} to ${signed(values[values.length - 1] ?? 0)}; the numbers are in the table below`;
  byId("differences").replaceChildren(better + worse ? drawDifferences(values, sorted.indexOf(state.query), widthOf("differences"), label, (i) => openQuery(sorted[i])) : "");
  const links = (/** @type {number[]} */ some) => some.flatMap((query, i) => [i ? ", " : "", queryLink(query)]);
  const most = sorted.slice(0, 3).filter((query) => value(query) > 1e-6);
  const least = sorted.slice(-3).reverse().filter((query) => value(query) < -1e-6);
  const parts = [];
  if (most.length) parts.push(`Largest differences in favour of ${a}: `, ...links(most), ". ");
  if (least.length) parts.push(`Largest differences in favour of ${b}: `, ...links(least), ".");
  byId("contrasts").replaceChildren(...parts);
}

/** @param {number[]} found */
function showQuery(found) {
  const { query } = state;
  byId("query").hidden = query < 0;
  if (query < 0) return;
  const id = report.queries[query];
  byId("query-title").replaceChildren("Query ", named(id, 80));
  byId("query-text").replaceChildren(element("bdi", {}, prose(textOf(report.query_texts, id))));
  const at = found.indexOf(query);
  byId("query-before").disabled = at <= 0;
  byId("query-after").disabled = at < 0 || at >= found.length - 1;
  const systems = report.systems.length > 1 ? [state.a, state.b] : [state.a];
  byId("query-scores").replaceChildren(scoresOfQuery(query, systems));
  byId("lists").replaceChildren(referenceOf(query), ...systems.map((system) => listOf(query, system)));
}

/** @param {number} query @param {number[]} systems */
function scoresOfQuery(query, systems) {
  const heads = [head("Measure", "text"), ...systems.map((s) => element("th", { scope: "col" }, named(report.systems[s], 24)))];
  const rows = report.measures.map((/** @type {string} */ text, /** @type {number} */ m) => element("tr", {}, element("th", { scope: "row", class: "text" }, text), ...systems.map((s) => cell(shown(arrays.scores.at(m, s, query))))));
  const table = element("table", {}, element("caption", {}, "Scores of this query"), element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Scores of this query" }, table);
}

/** @param {string} title @param {string} caption @param {Node[]} heads @param {Node[]} rows */
function listTable(title, caption, heads, rows) {
  const table = element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
  return element("div", { tabindex: "0", role: "region", "aria-label": brief(title) }, element("h4", {}, named(title)), table);
}

/** An item by its id, and its text where there is one. @param {number} query @param {number} place */
function itemOf(query, place) {
  const id = report.pools[query][place];
  const made = element("td", { class: "item" }, named(id, 60));
  const text = textOf(report.texts, id);
  if (text) made.append(element("small", {}, element("bdi", {}, prose(text))));
  return made;
}

/** @param {number} query */
function referenceOf(query) {
  const [count, all] = [arrays.reference_sizes.at(query, 0) ?? 0, arrays.reference_sizes.at(query, 1) ?? 0];
  const ranks = arrays.reference_ranks;
  const rows = Array.from({ length: count }, (_, i) => element("tr", {}, element("th", { scope: "row" }, String(ranks.at(query, i))), itemOf(query, i)));
  if (all > count) rows.push(element("tr", {}, cell(""), cell(`and ${all - count} more`, "item")));
  return listTable("Reference", "Relevant items, best first; items with the same rank are tied", [head("Rank", "text"), head("Item", "text")], rows);
}

/** @param {number} query @param {number} system */
function listOf(query, system) {
  const positions = Array.from({ length: arrays.items.shape[2] }, (_, i) => {
    const code = arrays.outcome.at(system, query, i) ?? 0;
    const [rank, ideal, why, ...parts] = [0, 1, 2, 3, 4, 5].map((part) => arrays.outcomes.at(part, code) ?? 0);
    const [credit, earned, lost] = parts.map((part) => part / 1e4);
    return { place: arrays.items.at(system, query, i) ?? -1, rank, ideal, why, credit, earned, lost, attainable: earned + Math.max(0, lost), weight: arrays.weights.at(i) ?? 0 };
  });
  const most = Math.max(1e-9, ...positions.map((entry) => entry.attainable));
  const rows = positions.flatMap((entry, i) => {
    if (entry.place < 0 && entry.lost === 0) return [];
    const item = entry.place < 0 ? element("td", { class: "item" }, "(nothing)") : itemOf(query, entry.place);
    if (report.why[entry.why]) item.append(element("small", {}, report.why[entry.why]));
    const label = `${written(entry.earned)} of ${written(entry.attainable)}`;
    return [element("tr", {}, element("th", { scope: "row" }, String(i + 1)), item, cell(`${entry.rank || "–"} / ${entry.ideal}`), cell(String(entry.weight)),
      cell(written(entry.credit, 2)), cell(bar(entry.earned / most, entry.attainable / most, label)), cell(written(entry.lost)))];
  });
  const heads = [head("#"), head("Item", "text"), head("Rank / ideal"), head("Weight"), head("Credit"), head("Earned", "text"), head("Lost")];
  const made = listTable(report.systems[system], `${report.explained} position by position. Ideal: the rank that belongs at this position`, heads, rows);
  made.append(...elsewhere(query, system, positions.length));
  return made;
}

/** Where a list returns reference items below the positions that are shown, and which it does not return.
 *  @param {number} query @param {number} system @param {number} depth */
function elsewhere(query, system, depth) {
  const items = Array.from({ length: arrays.reference_sizes.at(query, 0) ?? 0 }, (_, i) => ({ id: report.pools[query][i], rank: arrays.reference_ranks.at(query, i), at: arrays.found_at.at(system, query, i) ?? 0 }));
  const deep = items.filter((item) => item.at > depth);
  const missing = items.filter((item) => !item.at);
  /** @type {(some: typeof items, text: (item: typeof items[0]) => string) => (Node|string)[]} */
  const listed = (some, text) => some.flatMap((item, i) => [i ? ", " : "", named(item.id, 60), text(item)]);
  return [
    ...(deep.length ? [element("p", { class: "hint" }, "Below: ", ...listed(deep, (item) => ` (rank ${item.rank}) returned at position ${item.at}`))] : []),
    ...(missing.length ? [element("p", { class: "hint" }, "Not returned: ", ...listed(missing, (item) => ` (rank ${item.rank})`))] : []),
  ];
}

function listenToQueries() {
  fillSelect("side", ["all queries", `A better`, `B better`, "equal"], (i) => choose({ side: SIDES[i], page: 0 }));
  fillSelect("segment", ["all", ...report.segments.map((/** @type {any} */ part) => part.name)], (i) => choose({ segment: i - 1, page: 0 }));
  byId("search").addEventListener("input", () => {
    Object.assign(state, { search: byId("search").value, page: 0 });
    showQueries();
    remember();
  });
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
