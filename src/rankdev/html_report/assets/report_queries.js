// @ts-check
// The queries: searched, sorted, drawn, and opened one by one.

const PAGE = 25;
const COLLATOR = new Intl.Collator("en", { numeric: true });
/** @param {Record<string, string>} texts @param {string} id any text, even the name of a property that every object has */
const textOf = (texts, id) => (Object.hasOwn(texts, id) ? texts[id] : "");

/** @type {Record<string, string>} */
const SIDES = { all: "all queries", gains: "biggest gains of A", losses: "biggest losses of A", changed: "most changed lists", equal: "equal", unanswered: "unanswered by A or B", unjudged: "unjudged on top" };
const TOP = 3; // positions that are the top

/** The difference of the two systems. @param {number} query @returns {number | null} */
function differenceOf(query) {
  const [a, b] = [state.a, state.b].map((system) => arrays.scores[state.measure][system][query]);
  return a === null || b === null ? null : a - b;
}

/** @param {number} query @returns {string | number} */
function sortKey(query) {
  if (state.sort === "query") return report.queries[query];
  if (state.sort === "changed") return changed(query);
  if (state.sort === "size") return arrays.reference_sizes[query];
  const value = state.sort === "difference" && report.systems.length > 1 ? differenceOf(query) : arrays.scores[state.measure][state.sort === "b" ? state.b : state.a][query];
  return value ?? (state.down ? -Infinity : Infinity);
}

/** @type {string[]} */ const WORDS = [];

/** What a search looks through: a query, its text, and the items of its lists with theirs. @param {number} query */
function wordsOf(query) {
  const id = report.queries[query];
  return (WORDS[query] ??= [id, textOf(report.query_texts, id), ...report.pools[query].flatMap((/** @type {string} */ item) => [item, textOf(report.texts, item)])].join("\n").toLowerCase());
}

/** How far the lists of the two systems differ: 1 less their average overlap, whatever the items are worth. @param {number} query */
function changed(query) {
  const [one, other] = [state.a, state.b].map((system) => positionsOf(query, system).map(({ place }) => place).filter((place) => place >= 0));
  const depths = Array.from({ length: Math.max(one.length, other.length) }, (_, i) => i + 1);
  const shared = depths.map((depth) => one.slice(0, depth).filter((place) => other.slice(0, depth).includes(place)).length / depth);
  return depths.length ? 1 - shared.reduce((sum, part) => sum + part, 0) / depths.length : 0;
}

/** Whether a query is one of those that a filter shows. @param {string} side @param {number} query */
function isOn(side, query) {
  const systems = [state.a, state.b];
  if (side === "changed") return changed(query) > 0;
  if (side === "unanswered") return systems.some((s) => positionsOf(query, s).every(({ rank }) => !rank));
  if (side === "unjudged") return systems.some((s) => positionsOf(query, s).slice(0, TOP).some(({ kind, place }) => place >= 0 && kind === "unjudged"));
  const ahead = lead(state.measure, differenceOf(query));
  return ahead !== null && (Math.abs(ahead) < 1e-6 ? "equal" : ahead > 0 ? "gains" : "losses") === side;
}

/** The queries that pass the filters, in the selected order. */
function chosenQueries() {
  const wanted = state.search.toLowerCase();
  const inside = state.segment < 0 ? null : new Set(report.segments[state.segment].queries);
  /** @type {number[]} */ const found = [];
  for (let query = 0; query < report.queries.length; query++) {
    if (inside && !inside.has(query)) continue;
    if (wanted && !wordsOf(query).includes(wanted)) continue;
    if (state.side === "all" || isOn(state.side, query)) found.push(query);
  }
  const keys = new Map(found.map((query) => [query, sortKey(query)]));
  const sign = state.down ? -1 : 1;
  const compare = (/** @type {any} */ x, /** @type {any} */ y) => (typeof x === "string" ? COLLATOR.compare(x, y) : x < y ? -1 : x > y ? 1 : 0);
  return found.sort((x, y) => sign * compare(keys.get(x), keys.get(y)) || x - y);
}

function showSegments() {
  byId("segments-part").hidden = byId("segment-label").hidden = !report.segments.length;
  if (!report.segments.length) return;
  const tested = report.tested_segments.length > 0;
  const order = ordered(state.measure);
  const some = order.slice(0, tested ? 6 : 12);
  for (const system of [state.a, state.b]) if (!some.includes(system)) some.push(system);
  const heads = [head("Segment", "text"), head("Queries"), ...some.map((/** @type {number} */ s) => element("th", { scope: "col", class: "measure", "data-system": String(s) }, labelled(report.systems[s]))), ...(tested ? [head("A − B"), head(`${report.confidence} interval`), head(`p, ${report.correction}`), head("A is", "text")] : [])];
  const rows = report.segments.map((/** @type {any} */ part, /** @type {number} */ i) => {
    const means = some.map((s) => arrays.segment_means[i][s][state.measure]);
    const best = lead(state.measure, Math.max(...means.map((mean) => lead(state.measure, mean) ?? -Infinity)));
    return element("tr", {}, element("th", { scope: "row", class: "text" }, labelled(part.name)), cell(String(part.size)),
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
  byId("side").value = String(Object.keys(SIDES).indexOf(state.side));
  byId("segment").value = String(state.segment + 1);
  byId("found").textContent = `${found.length.toLocaleString("en")} of ${counted(report.queries.length, "query")}`;
  byId("at").textContent = `${state.page + 1} of ${pages}`;
  byId("before").disabled = state.page === 0;
  byId("after").disabled = state.page >= pages - 1;
  byId("pager").hidden = pages === 1;
  showRows(found.slice(state.page * PAGE, (state.page + 1) * PAGE));
  const place = byId(state.query < 0 ? "narrow" : "query-narrow");
  if (byId("filters").parentElement !== place) {
    byId("narrow").style.minHeight = `${byId("narrow").getBoundingClientRect().height}px`; // so that nothing moves behind the view of a query
    place.append(byId("filters")); // one form, where it is looked for
  }
  byId("differences-title").hidden = report.systems.length < 2;
  if (report.systems.length > 1) showDifferences(found);
  showQuery(found);
}

/** The headings and rows of some queries. @param {number[]} queries */
function rowsOf(queries) {
  const [a, b] = [systemName(state.a), systemName(state.b)];
  const several = report.systems.length > 1;
  const by = (/** @type {string} */ text, /** @type {string} */ sort, kind = "") =>
    sorter(text, state.sort === sort, state.down, () => choose({ sort, down: state.sort === sort ? !state.down : sort !== "query", page: 0 }), kind);
  const heads = [by("Query", "query", "text"), by(several ? `A: ${a}` : a, several ? "a" : "difference", several ? "of-a" : ""), ...(several ? [by(`B: ${b}`, "b", "of-b"), by("A − B", "difference")] : []), by("Relevant items", "size", "size")];
  const rows = queries.map((query) => {
    const scores = (several ? [state.a, state.b] : [state.a]).map((s) => cell(shown(arrays.scores[state.measure][s][query])));
    const text = textOf(report.query_texts, report.queries[query]);
    return element("tr", {}, element("th", { scope: "row", class: "text" }, queryLink(query), ...(text ? [element("small", {}, element("bdi", {}, prose(text)))] : [])),
      ...scores, ...(several ? [cell(signed(differenceOf(query)))] : []), cell(String(arrays.reference_sizes[query]), "size"));
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
  const made = element("button", { type: "button", class: "link", "data-query": String(query) }, labelled(report.queries[query]), text ? element("bdi", {}, ` ${brief(prose(text), 60)}`) : "");
  made.addEventListener("click", () => openQuery(query));
  return made;
}

/** @param {number} query */
function openQuery(query) {
  choose({ query });
  byId("query-title").focus({ preventScroll: true });
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
    const [mine, other] = [state.a, state.b].map((system) => shown(arrays.scores[state.measure][system][sorted[i]]));
    const text = textOf(report.query_texts, report.queries[sorted[i]]);
    return `${short(report.queries[sorted[i]])}${text && ` (${brief(prose(text), 60)})`}: A ${mine}, B ${other}, difference ${signed(values[i])}`;
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
  document.body.classList.toggle("reading", query >= 0);
  for (const behind of document.querySelectorAll("body > header, .toolbar, main")) /** @type {HTMLElement} */ (behind).inert = query >= 0; // keys stay in front
  const before = byId("query").dataset.query ?? "";
  byId("query").dataset.query = query < 0 ? "" : String(query);
  if (query < 0) return before && /** @type {HTMLElement | null} */ (byId("rows").querySelector(`[data-query="${before}"]`))?.focus({ preventScroll: true });
  const id = report.queries[query];
  const text = textOf(report.query_texts, id);
  byId("query-title").replaceChildren(element("bdi", {}, text ? prose(text) : visible(id)), ...(text ? [" ", element("small", {}, labelled(report.queries[query]))] : []));
  const at = found.indexOf(query);
  byId("query-at").textContent = `${at < 0 ? "–" : at + 1} of ${found.length.toLocaleString("en")}`;
  byId("query-before").disabled = at <= 0;
  byId("query-after").disabled = at < 0 || at >= found.length - 1;
  const several = report.systems.length > 1;
  const systems = several ? [state.a, state.b] : [state.a];
  const score = (/** @type {number} */ s) => arrays.scores[state.measure][s][query];
  const difference = several ? differenceOf(query) : null;
  const gained = (lead(state.measure, difference) ?? 0) > 0;
  byId("query-scores").replaceChildren(
    `${report.measures[state.measure]} `,
    ...systems.flatMap((s, i) => [element("span", { class: several ? `score ${"ab"[i]}` : "score" }, several ? element("span", { class: `side ${"ab"[i]}` }, "AB"[i]) : "", shown(score(s))), " "]),
    several ? element("b", { class: difference === null || Math.abs(difference) < 1e-6 ? "" : gained ? "gain" : "loss" }, `A − B ${signed(difference)}`) : "");
  byId("query-hint").textContent = otherMeasures(query, systems);
  byId("lists").className = several ? "lists" : "lists alone";
  byId("lists").replaceChildren(...systems.map((system, i) => listOf(query, system, several ? "ab"[i] : "")));
  const last = Math.max(...systems.map((s) => positionsOf(query, s, Infinity).filter(({ place }) => place >= 0).length));
  byId("deeper").hidden = last <= report.cutoff;
  byId("deeper").textContent = `${byId("query").classList.contains("deep") ? "Hide" : "Show"} what is below the cutoff, positions ${report.cutoff + 1} to ${last}`;
  byId("elsewhere").replaceChildren(...notReturned(query, systems));
}

/** What two lists share, the scores of a query by the other measures, and what bars and losses are of. @param {number} query @param {number[]} systems */
function otherMeasures(query, systems) {
  const [one, other] = systems.map((s) => positionsOf(query, s).map(({ place }) => place).filter((place) => place >= 0));
  const both = other?.length ? `${one.filter((place) => other.includes(place)).length} of ${counted(Math.max(one.length, other.length), "item")} are in both lists. ` : "";
  const others = report.measures.flatMap((/** @type {string} */ name, /** @type {number} */ m) => (m === state.measure ? [] : [`${name}: ${systems.map((s) => shown(arrays.scores[m][s][query])).join(" and ")}`]));
  return `${both}${others.length ? `${others.join(", ")}. ` : ""}Bars and losses are of ${report.explained}. ${report.one_order}`;
}

/** What can be said of an item in a list, and its sign. @type {Record<string, string>} */
const SIGNS = { nonrelevant: "✗", unjudged: "?", "not in the reference": "✗", repeated: "↻" };

/** The positions of a list. @param {number} query @param {number} system @param {number} [depth] @returns {{place: number, rank: number, kind: string, credit: number}[]} */
function positionsOf(query, system, depth = report.cutoff) {
  const [ranks, kinds, credit] = [arrays.ranks, arrays.kinds, arrays.credit].map((all) => all[system][query]);
  return arrays.items[system][query].slice(0, depth).map((/** @type {number} */ place, /** @type {number} */ i) => ({ place, rank: ranks[i], kind: report.kinds[kinds[i]], credit: credit[i] }));
}

/** How good an item is: its grade, its rank in the reference, or that it is in none. @param {number} query @param {number} rank @param {string} kind */
function worth(query, rank, kind) {
  const grade = rank ? report.grades?.[query][rank] : kind === "nonrelevant" ? 0 : undefined;
  if (rank) return element("i", { class: "worth good" }, grade === undefined ? `rank ${rank}` : `grade ${grade}`);
  const text = grade === undefined || !report.grades ? kind : `grade ${grade}`;
  return element("i", { class: `worth ${kind.replaceAll(" ", "-")}` }, `${SIGNS[kind] ?? ""} ${text}`.trim());
}

/** Where the other list has an item, and how far from there it is here. @param {number} at @param {number} other from 1; 0: not there @param {string} side @param {boolean} whole whether all of the other list is known @param {boolean} good whether it is relevant, so that higher is better @returns {(Node|string)[]} */
function moved(at, other, side, whole, good) {
  if (!side) return [];
  const name = side === "a" ? "B" : "A";
  if (!other) return [element("b", { class: "only" }, whole ? `only in ${side.toUpperCase()}` : `not in ${name}'s ${arrays.items[0][0].length}`)];
  const move = element("b", { class: at < other === good ? "up" : "down" }, `${at < other ? "↑" : "↓"}${Math.abs(at - other)}`);
  return [at === other ? "" : move, " ", element("span", {}, `${other} in ${name}`)];
}

const PASSAGE = 160; // characters of a text that are seen while it is closed
const LEAD = 40; // those of them that may be ahead of a word of the query

/** Where the passage begins that has most of the words of a query. @param {string} text @param {RegExp | null} words */
function passage(text, words) {
  const found = words ? [...text.matchAll(words)] : [];
  const inside = (/** @type {number} */ begin) => new Set(found.filter(({ index }) => index >= begin && index < begin + PASSAGE).map(([word]) => word.toLowerCase().replace(/s$/, ""))).size;
  const [best] = [0, ...found.map(({ index }) => index)].sort((x, y) => inside(y) - inside(x) || x - y);
  return best > LEAD ? text.indexOf(" ", best - LEAD) + 1 : 0;
}

/** A text in which the words of the query are marked; closed, it begins with its best passage. @param {string} text @param {RegExp | null} words */
function withWords(text, words) {
  const begin = passage(text, words);
  const skipped = begin ? [element("span", { class: "before" }, ...marked(text.slice(0, begin), words)), element("span", { class: "skip" }, "… ")] : [];
  return [...skipped, ...marked(text.slice(begin), words)];
}

/** @param {number} query @param {number} system @param {string} side "a", "b" or empty */
function listOf(query, system, side) {
  const other = side ? (side === "a" ? state.b : state.a) : -1;
  const places = side ? arrays.items[other][query] : [];
  const inside = arrays.reference_ranks[query].length;
  const wanted = sought(textOf(report.query_texts, report.queries[query]));
  const looked = (/** @type {number} */ place) => report.everywhere || place < inside;
  const there = (/** @type {number} */ place) => places.indexOf(place) + 1 || (side && looked(place) ? arrays.found_at[other][query][place] ?? 0 : 0);
  const scores = /** @type {(number | null)[]} */ (arrays.retrieved?.[system][query] ?? []);
  const digits = Math.max(...scores.map((score) => String(score ?? "").split(".")[1]?.length ?? 0));
  const items = positionsOf(query, system, Infinity).flatMap(({ place, rank, kind, credit }, i) => {
    if (place < 0) return [];
    const text = textOf(report.texts, report.pools[query][place]);
    const id = labelled(report.pools[query][place]);
    const score = scores[i] ?? null;
    const about = element("small", {}, worth(query, rank, kind), " ", ...(kind === "repeated" ? ["repeated"] : moved(i + 1, there(place), side, looked(place) || places.includes(-1), rank > 0)),
      ...(score === null ? [] : [" ", element("span", { class: "retrieved", title: "score with which it was retrieved" }, `score ${written(score, digits)}`)]), ...(text ? [" ", element("span", { class: "id" }, id)] : []));
    const below = i >= report.cutoff;
    return [element("li", { tabindex: i ? "-1" : "0", "data-item": String(place), class: `${rank ? "" : "poor"} ${below ? "below" : ""}` }, element("span", { class: "at" }, String(i + 1)),
      element("div", {}, element("p", { dir: "auto" }, ...(text ? withWords(prose(text), wanted) : [id])), about), below ? "" : bar(credit, 1, `credit ${written(credit, 2)}`))];
  });
  const [retrieval, cutoff, order] = arrays.query_losses[system][query];
  const lost = [["order", order], ["the cutoff", cutoff], ["retrieval", retrieval]].filter(([, value]) => Number(value) >= 5e-5).map(([text, value]) => `${written(Number(value), 3)} by ${text}`);
  const title = element("h3", { class: side }, labelled(report.systems[system]));
  const made = element("section", side ? { class: side } : {}, title,
    element("p", { class: "hint" }, `Loses ${lost.length ? lost.join(", ") : "nothing"}`),
    items.length ? element("ol", {}, ...items) : element("p", { class: "nothing" }, "This system returns nothing."));
  const link = playgroundLink(query, positionsOf(query, system));
  if (link === null) return made;
  const button = element("button", { type: "button", class: "tool screen" }, "Try it in the playground");
  button.addEventListener("click", () => window.open(playgroundPage() + link));
  title.append(" ", button);
  return made;
}

/** The relevant items that a list does not show, and where it has them. @param {number} query @param {number[]} systems */
function notReturned(query, systems) {
  const [count, all] = [arrays.reference_ranks[query].length, arrays.reference_sizes[query]];
  const lists = systems.map((system) => arrays.items[system][query]);
  const missed = Array.from({ length: count }, (_, place) => place).filter((place) => lists.some((list) => !list.slice(0, report.cutoff).includes(place)));
  if (!missed.length) return [];
  const rows = missed.map((place) => {
    const text = textOf(report.texts, report.pools[query][place]);
    const item = element("td", { class: "prose" }, worth(query, arrays.reference_ranks[query][place], ""), " ", labelled(report.pools[query][place]), ...(text ? [element("small", {}, element("bdi", {}, prose(text)))] : []));
    const at = systems.map((system, i) => lists[i].indexOf(place) + 1 || (arrays.found_at[system][query][place] ?? 0));
    return element("tr", {}, item, ...at.map((position) => cell(position ? String(position) : "not returned")));
  });
  const heads = [head("Item", "text"), ...systems.map((_, i) => head(systems.length > 1 ? `Position in ${"AB"[i]}` : "Position"))];
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
  const left = all > count ? `; the first ${count} of ${all} relevant items were looked for` : "";
  return [element("details", {}, element("summary", {}, `${counted(missed.length, "relevant item")} missing from ${systems.length > 1 ? "one list or both" : "the list"}${left}`), element("div", { class: "scroll" }, table))];
}

let playground = ""; // the address of the one that the report holds, once it was opened

function playgroundPage() {
  playground ||= URL.createObjectURL(new Blob([report.playground.page], { type: "text/html" }));
  return playground;
}

/** The list and its reference as a link to the playground; null where it would score another list than this one.
 *  @param {number} query @param {ReturnType<typeof positionsOf>} positions */
function playgroundLink(query, positions) {
  const [count, all] = [arrays.reference_ranks[query].length, arrays.reference_sizes[query]];
  const returned = positions.filter((entry) => entry.place >= 0);
  const names = [...Array.from({ length: count }, (_, i) => i), ...returned.map((entry) => entry.place)].map((place) => report.pools[query][place]);
  const known = names.every((name) => name === name.trim() && name.length <= 60);
  if (!report.playground || count < all || !count || !known || returned.some((entry) => entry.kind === "repeated")) return null;
  const list = (/** @type {number[]} */ places) => places.map((place) => encodeURIComponent(report.pools[query][place])).join(",");
  /** @type {number[][]} */
  const tiers = [];
  for (let i = 0; i < count; i++) {
    if (i && arrays.reference_ranks[query][i] === arrays.reference_ranks[query][i - 1]) tiers[tiers.length - 1].push(i);
    else tiers.push([i]);
  }
  const poor = returned.filter((entry) => entry.kind === "nonrelevant");
  const parts = { reference: tiers.map(list).join(";"), nonrelevant: list(poor.map((entry) => entry.place)), ranking: list(returned.map((entry) => entry.place)) };
  return `#${new URLSearchParams({ ...parts, ...report.playground.settings })}`;
}

/** Mark an item in both lists. @param {EventTarget|null} target */
function markItem(target) {
  const place = /** @type {HTMLElement|null} */ (/** @type {Element} */ (target).closest("#lists li"))?.dataset.item;
  for (const item of /** @type {NodeListOf<HTMLElement>} */ (byId("lists").querySelectorAll("li"))) item.classList.toggle("marked", item.dataset.item === place);
}

/** @param {number} step */
function otherQuery(step) {
  const found = chosenQueries();
  const next = found[found.indexOf(state.query) + step];
  if (found.includes(state.query) && next !== undefined) choose({ query: next });
}

/** Filter the queries; an open one that is not among them gives way to their first. @param {Partial<typeof state>} change */
function narrow(change) {
  Object.assign(state, change, { page: 0 });
  const found = chosenQueries();
  if (state.query >= 0 && found.length && !found.includes(state.query)) state.query = found[0];
  showQueries();
  remember();
}

/** Close the view of a query: back to where one was, if that is where one came from. */
function closeQuery() {
  if (history.state?.opened) history.back();
  else choose({ query: -1 });
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || target.matches("input, select, textarea")) return;
  const item = /** @type {HTMLElement|null} */ (target.closest("#lists li"));
  const beside = { ArrowDown: item?.nextElementSibling, ArrowUp: item?.previousElementSibling }[event.key];
  const acts = /** @type {Record<string, () => void>} */ ({ "/": () => byId("search").focus(),
    ...(state.query < 0 ? {} : { Escape: closeQuery, ArrowLeft: () => otherQuery(-1), k: () => otherQuery(-1), ArrowRight: () => otherQuery(1), j: () => otherQuery(1) }) });
  if (item && event.key === "Enter") item.classList.toggle("open");
  else if (beside) /** @type {HTMLElement} */ (beside).focus();
  else if (event.key in acts) acts[event.key]();
  else return;
  event.preventDefault();
}

function listenToQueries() {
  fillSelect("side", Object.values(SIDES), (i) => {
    const side = Object.keys(SIDES)[i];
    narrow({ side, sort: side === "changed" ? side : "difference", down: side === "changed" || (side !== "losses") !== report.lower[state.measure] });
  });
  fillSelect("segment", ["all", ...report.segments.map((/** @type {any} */ part) => part.name)], (i) => narrow({ segment: i - 1 }));
  byId("search").addEventListener("input", () => narrow({ search: byId("search").value }));
  for (const kind of ["mouseover", "focusin"]) byId("lists").addEventListener(kind, (/** @type {Event} */ event) => markItem(event.target));
  byId("lists").addEventListener("click", (/** @type {Event} */ event) => /** @type {Element} */ (event.target).closest("li")?.classList.toggle("open"));
  document.addEventListener("keydown", pressed);
  byId("filters").addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    byId("search").blur(); // so that keys lead to other queries again
  });
  byId("before").addEventListener("click", () => choose({ page: state.page - 1 }));
  byId("after").addEventListener("click", () => choose({ page: state.page + 1 }));
  byId("query-close").addEventListener("click", closeQuery);
  byId("deeper").addEventListener("click", () => {
    byId("query").classList.toggle("deep");
    showQueries();
  });
  byId("query-title").addEventListener("click", () => byId("query-title").classList.toggle("open"));
  byId("query-before").addEventListener("click", () => otherQuery(-1));
  byId("query-after").addEventListener("click", () => otherQuery(1));
}
