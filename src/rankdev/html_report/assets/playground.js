// @ts-check
// The playground: state → page, and every way to change the state. Its numbers are computed in arithmetic.js.
// Names of items come from links and from the field for new ones: they are shown as text, never as markup.

const data = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("data")).textContent || "{}");
const POOL = [...Array.from({ length: 20 }, (_, i) => `d${i + 1}`), ...Array.from({ length: 5 }, (_, i) => `x${i + 1}`)];
const MOST = 60; // items of a link, and letters of a name
/** @type {string[]} */ let pool = POOL;
/** @type {string|null} */ let picked = null;
/** @type {Record<string, number>} */ let now = {};
/** @type {Record<string, number>} the scores before the last change */ let before = {};
let changed = "";
let point = () => {}; // show which item is pointed at, among those on the page
const state = { tiers: [["d1"]], nonrelevant: /** @type {string[]} */ ([]), ranking: ["d1"], k: 5, penalty: "m2", alpha: 1, lam: 0.2, weights: "vertical", own: "1,0.5,0.2" };

function reference() {
  const ranks = new Map();
  state.tiers.forEach((tier, i) => tier.forEach((item) => ranks.set(item, i + 1)));
  return ranks;
}

/** The selected weights, or what is wrong with custom ones. */
function positionWeights() {
  if (state.weights !== "own") return WEIGHTS[/** @type {keyof typeof WEIGHTS} */ (state.weights)];
  const head = state.own.split(",").map((part) => (part.trim() ? Number(part) : NaN));
  if (head.some((value) => !(value > 0 && value < Infinity))) return "own weights must be positive numbers, separated by commas";
  if (head.some((value, i) => i > 0 && value > head[i - 1])) return "own weights must not increase";
  return { head, tail: head[head.length - 1] };
}

/** Keep the scores before a change; a control that goes on moving makes one change. @param {string} [control] */
function change(control = "") {
  if (!control || control !== changed) before = now;
  changed = control;
}

/** @param {string} item @param {string} zone @param {number} tier @param {number} index */
function chip(item, zone, tier, index) {
  const inside = reference().has(item) ? "" : " outside";
  const place = zone === "reference" ? ` rank ${tier + 1}` : zone === "ranking" ? ` position ${index + 1}` : "";
  const name = zone === "pool" ? visible(item) : `${visible(item)}, ${zone}${place}`;
  const made = element("span", { class: `item${inside}`, tabindex: "0", role: "button", "aria-label": name }, named(item, 32));
  Object.assign(made.dataset, { item, zone, tier: String(tier), index: String(index) });
  return made;
}

function showBoards() {
  const tiers = state.tiers.map((tier, t) =>
    element("li", { "data-zone": "reference", "data-tier": String(t) }, ...tier.map((item, i) => chip(item, "reference", t, i))),
  );
  tiers.push(element("li", { class: "new", "data-zone": "reference", "data-tier": String(state.tiers.length) }, "drop here for a new rank"));
  byId("reference").replaceChildren(...tiers);
  byId("nonrelevant").replaceChildren(...state.nonrelevant.map((item, i) => chip(item, "nonrelevant", 0, i)));
  byId("ranking").replaceChildren(
    ...state.ranking.map((item, i) =>
      element("li", { "data-zone": "ranking", "data-index": String(i), ...(i < state.k ? {} : { class: "past" }) }, chip(item, "ranking", 0, i)),
    ),
  );
  pool = [...new Set([...pool, ...state.tiers.flat(), ...state.nonrelevant, ...state.ranking])];
  byId("pool").replaceChildren(...pool.map((item, i) => chip(item, "pool", 0, i)));
}

function showSettings() {
  for (const name of ["k", "alpha", "lam"]) {
    byId(name).value = String(state[/** @type {"k"} */ (name)]);
    byId(`${name}-value`).textContent = String(state[/** @type {"k"} */ (name)]);
  }
  for (const choice of penalties()) choice.checked = choice.value === state.penalty;
  byId("weights").value = state.weights;
  byId("own").value = state.own;
  byId("own").disabled = state.weights !== "own";
}

function penalties() {
  return /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll("[name=penalty]")]);
}

/** @param {string} penalty */
function measureText(penalty) {
  const parts = [];
  if (penalty === "m1") parts.push("penalty=m1");
  if (penalty === "m2" && state.alpha !== 1) parts.push(`alpha=${state.alpha}`);
  if (penalty === "m2" && state.lam !== 0.2) parts.push(`lam=${state.lam}`);
  const weights = positionWeights();
  if (state.weights === "own" && typeof weights !== "string") parts.push(`weights=[${weights.head}],tail=${weights.tail}`);
  else if (state.weights !== "vertical") parts.push(`weights=${state.weights}`);
  return `RDQ${parts.length ? `(${parts.join(",")})` : ""}@${state.k}`;
}

/** A score, and where it was before the last change. @param {string} penalty */
function reading(penalty) {
  const [score, was] = [now[penalty], before[penalty] ?? now[penalty]].map((value) => written(value));
  if (score === was) return [element("strong", {}, score)];
  const by = Number(score) - Number(was);
  const kind = by > 0 ? "rise" : "fall";
  return [`${was} → `, element("strong", {}, score), element("span", { class: kind }, ` ${by > 0 ? "+" : "−"}${written(Math.abs(by))}`)];
}

function showScore() {
  const weights = positionWeights();
  const problem = typeof weights === "string" ? weights : state.tiers.length === 0 ? "the reference is empty; add an item" : "";
  byId("problem").textContent = problem;
  byId("text").textContent = byId("text").title = problem ? "" : measureText(state.penalty);
  if (typeof weights === "string" || problem) { // no number stays that is not of this list
    for (const id of ["score-m1", "score-m2", "curves-m1", "curves-m2", "picked", "said"]) byId(id).replaceChildren();
    for (const id of ["positions", "peers"]) byId(id).tBodies[0].replaceChildren();
    byId("bars").replaceChildren();
    point = () => {};
    return;
  }
  const known = reference();
  const poor = new Set(state.nonrelevant);
  const settings = /** @type {Settings} */ ({ ...state, weights: weights.head, tail: weights.tail });
  const both = Object.fromEntries(
    /** @type {const} */ (["m1", "m2"]).map((penalty) => [penalty, rdq(known, state.ranking, { ...settings, penalty }, poor)]),
  );
  now = { m1: both.m1.score, m2: both.m2.score };
  const { rows } = both[state.penalty];
  for (const penalty of ["m1", "m2"]) byId(`score-${penalty}`).replaceChildren(...reading(penalty));
  byId("said").textContent = `${measureText(state.penalty)}: ${byId(`score-${state.penalty}`).textContent}`;
  const titles = { m1: "M1: ideal rank ÷ rank, at most 1", m2: `M2, α = ${state.alpha}, λ = ${state.lam}` };
  for (const penalty of /** @type {const} */ (["m1", "m2"])) {
    drawCurves(byId(`curves-${penalty}`), titles[penalty], known, { ...settings, penalty }, both[penalty].rows);
  }
  point = () => showPicked(both.m1.rows, both.m2.rows);
  point();
  drawBars(byId("bars"), settings, rows, known.size);
  const most = Math.max(...rows.map((row) => row.earned + Math.max(0, row.lost)));
  byId("positions").tBodies[0].replaceChildren(
    ...rows.map((row, i) => {
      const attainable = row.earned + Math.max(0, row.lost);
      const label = `${written(row.earned)} of ${written(attainable)}`;
      const cells = [row.rank ?? "–", row.ideal, row.weight, written(both.m2.rows[i].credit, 2), written(both.m1.rows[i].credit, 2)];
      return element(
        "tr",
        {},
        element("th", { scope: "row" }, String(row.position)),
        element("td", { class: "text item-name" }, row.item === null ? "–" : named(row.item, 32)),
        ...cells.map((text) => element("td", {}, String(text))),
        element("td", {}, bar(row.earned / most, attainable / most, label)),
        element("td", {}, written(row.earned)),
        element("td", {}, written(row.lost)),
        element("td", { class: "text" }, row.why),
      );
    }),
  );
  const k = state.k;
  const peers = /** @type {[string, number][]} */ ([
    [measureText("m2"), now.m2],
    [measureText("m1"), now.m1],
    [`nDCG(gains=binary)@${k}`, ndcg(known, state.ranking, k, "binary")],
    [`nDCG(gains=inverse,dcg=exp-log2)@${k}`, ndcg(known, state.ranking, k, "inverse")],
    [`nDCG(gains=linear,dcg=exp-log2)@${k}`, ndcg(known, state.ranking, k, "linear")],
    [`AP@${k}`, averagePrecision(known, state.ranking, k)],
    [`RBP(p=0.8)@${k}`, rbp(known, state.ranking, k, 0.8)],
    [`Compat(p=0.95)@${k}`, compat(known, state.ranking, k, 0.95)],
  ]);
  byId("peers").tBodies[0].replaceChildren(
    ...peers.map(([name, value]) =>
      element(
        "tr",
        {},
        element("th", { scope: "row", class: "text" }, ...broken(name)),
        element("td", {}, written(value)),
        element("td", {}, bar(value, value, `${written(value)} of 1`)),
      ),
    ),
  );
}

/** In words, and marked in the lists and figures: the item pointed at, else the first that is displaced.
 *  @param {Row[]} m1 @param {Row[]} m2 */
function showPicked(m1, m2) {
  const out = m2.find((row) => row.item !== null && row.item === picked) ?? m2.find((row) => row.rank !== null && row.credit < 1);
  const item = out?.item ?? picked;
  for (const made of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-item], [data-drawn]"))) {
    made.classList.toggle("picked", (made.dataset.item ?? made.dataset.drawn) === item);
  }
  byId("picked").replaceChildren();
  if (!out || out.item === null) return;
  const place = out.rank === null ? "is not in the reference" : `has rank ${out.rank}; rank ${out.ideal} belongs at position ${out.position}`;
  const [one, two] = [m1, m2].map((rows) => written(rows[out.position - 1].credit, 2));
  byId("picked").append(named(out.item), ` ${place}: credit ${two} by M2, ${one} by M1`);
}

function show() {
  showBoards();
  showSettings();
  showScore();
  history.replaceState(null, "", `#${new URLSearchParams(packed())}`);
}

function packed() {
  const { tiers, nonrelevant, ranking, ...settings } = state;
  const texts = Object.entries(settings).map(([name, value]) => [name, String(value)]);
  const list = (/** @type {string[]} */ items) => items.map(encodeURIComponent).join(",");
  return { reference: tiers.map(list).join(";"), nonrelevant: list(nonrelevant), ranking: list(ranking), ...Object.fromEntries(texts) };
}

/** Restore the state from a link; settings that it does not name stay, and items belong to the reference that it names. @param {string} hash */
function unpack(hash) {
  const asked = new URLSearchParams(hash.replace(/^#/, ""));
  const known = (/** @type {string} */ text) => [...new Set(text.split(",").map(decoded).filter(Boolean))].slice(0, MOST);
  const tiers = asked.get("reference");
  if (tiers) [state.nonrelevant, state.ranking] = [[], []];
  if (tiers) state.tiers = unique(tiers.split(";").map(known)).filter((tier) => tier.length);
  const poor = asked.get("nonrelevant");
  if (poor !== null) state.nonrelevant = known(poor);
  state.nonrelevant = state.nonrelevant.filter((item) => !reference().has(item));
  const ranking = asked.get("ranking");
  if (ranking !== null) state.ranking = known(ranking);
  for (const name of /** @type {const} */ (["k", "alpha", "lam"])) {
    const field = byId(name);
    const value = Number(asked.get(name) ?? NaN);
    if (value >= Number(field.min) && value <= Number(field.max)) state[name] = value;
  }
  state.k = Math.round(state.k);
  const [penalty, weights] = [asked.get("penalty"), asked.get("weights")];
  if (penalty && penalties().some((choice) => choice.value === penalty)) state.penalty = penalty;
  if (weights && [...byId("weights").options].some((option) => option.value === weights)) state.weights = weights;
  state.own = asked.get("own") ?? state.own;
}

/** A name as a link writes it. @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text).trim().slice(0, MOST);
  } catch {
    return text.trim().slice(0, MOST); // a stray %
  }
}

/** Each item once, in its best tier. @param {string[][]} tiers */
function unique(tiers) {
  const seen = new Set();
  return tiers.map((tier) => tier.filter((item) => !seen.has(item) && seen.add(item)));
}

/** @param {string} item @param {number} tier @param {boolean} [alone] */
function intoReference(item, tier, alone = false) {
  const tiers = state.tiers.map((names) => names.filter((name) => name !== item));
  if (alone || tier >= tiers.length) tiers.splice(Math.max(0, tier), 0, [item]);
  else tiers[tier].push(item);
  state.tiers = tiers.filter((names) => names.length);
  takeOut(item, "nonrelevant");
}

/** @param {string} item */
function intoNonrelevant(item) {
  takeOut(item, "nonrelevant");
  takeOut(item, "reference");
  state.nonrelevant.push(item);
}

/** @param {string} item @param {number} index */
function intoRanking(item, index) {
  const rest = state.ranking.filter((name) => name !== item);
  rest.splice(index, 0, item);
  state.ranking = rest;
}

/** @param {string} item @param {string|undefined} zone */
function takeOut(item, zone) {
  if (zone === "ranking") state.ranking = state.ranking.filter((name) => name !== item);
  if (zone === "nonrelevant") state.nonrelevant = state.nonrelevant.filter((name) => name !== item);
  if (zone === "reference") state.tiers = state.tiers.map((tier) => tier.filter((name) => name !== item)).filter((tier) => tier.length);
}

/** In the reference an item that moves joins the next tier, or leaves its tier for one of its own between the two.
 *  @param {string} item @param {number} step */
function moveInReference(item, step) {
  const at = state.tiers.findIndex((tier) => tier.includes(item));
  if (state.tiers[at].length > 1) intoReference(item, step > 0 ? at + 1 : at, true);
  else if (at + step >= 0 && at + step < state.tiers.length) {
    state.tiers[at + step].push(item);
    state.tiers.splice(at, 1);
  }
}

document.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  const { item, zone, index } = target.dataset;
  if (!item) return;
  const turn = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 }[event.key] ?? 0;
  if (turn && zone === "ranking") intoRanking(item, Math.max(0, Number(index) + turn));
  else if (turn && zone === "reference") moveInReference(item, turn);
  else if (event.key === "Delete" || event.key === "Backspace") takeOut(item, zone);
  else if (event.key === "Enter" && zone === "pool") intoRanking(item, state.ranking.length);
  else if (event.key.toLowerCase() === "r" && zone === "pool") intoReference(item, state.tiers.length, true);
  else if (event.key.toLowerCase() === "n" && zone === "pool") intoNonrelevant(item);
  else return;
  event.preventDefault();
  change();
  show();
  const chips = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".item")]);
  (chips.find((made) => made.dataset.item === item && made.dataset.zone === zone) ?? chips[0])?.focus();
});

letDrag(document, "[data-item]", "[data-zone], .tiers, .list, .judged, .pool", (held, place) => {
  const { item = "", zone } = held.dataset;
  change();
  picked = item;
  if (!place || place.id === "pool" || place.dataset.zone === "pool") takeOut(item, zone);
  else if (place.id === "ranking" || place.dataset.zone === "ranking") intoRanking(item, Number(place.dataset.index ?? state.ranking.length));
  else if (place.id === "nonrelevant" || place.dataset.zone === "nonrelevant") intoNonrelevant(item);
  else intoReference(item, Number(place.dataset.tier ?? state.tiers.length), place.classList.contains("new"));
  show();
});

// an item pointed at or focused, in a list or in a figure, stands out in all of them
for (const kind of ["pointermove", "pointerdown", "focusin"]) {
  document.addEventListener(kind, (event) => {
    const over = /** @type {HTMLElement|null} */ (/** @type {Element} */ (event.target).closest("[data-item], [data-drawn]"));
    const item = over?.dataset.item ?? over?.dataset.drawn;
    if (item === undefined || item === picked) return;
    picked = item;
    point();
  });
}

letWeigh(byId("bars"), (i, weight) => {
  const weights = positionWeights();
  if (typeof weights === "string") return;
  change(`weight ${i}`);
  const most = Math.max(1, weights.head[0]);
  state.own = reweighted(weights, i, weight(weights.head[i] ?? weights.tail, most)).join(",");
  state.weights = "own";
  show();
});

for (const name of /** @type {const} */ (["k", "alpha", "lam"])) {
  byId(name).addEventListener("input", () => {
    change(name);
    state[name] = Number(byId(name).value);
    show();
  });
}
for (const name of /** @type {const} */ (["weights", "own"])) {
  byId(name).addEventListener("input", () => {
    change(name === "own" ? name : `${name} ${byId(name).value}`);
    state[name] = byId(name).value;
    show();
  });
}
for (const choice of penalties()) {
  choice.addEventListener("input", () => {
    state.penalty = choice.value;
    show();
  });
}
byId("add").addEventListener("submit", (/** @type {Event} */ event) => {
  event.preventDefault();
  const name = byId("name").value.trim();
  if (name && !pool.includes(name)) pool = [...pool, name];
  byId("name").value = "";
  show();
});

byId("example").append(element("option", { value: "", hidden: "" }, "your own"), ...data.examples.map((/** @type {any} */ example, /** @type {number} */ i) => element("option", { value: String(i) }, example.name)));
byId("example").addEventListener("input", () => start(Number(byId("example").value)));
byId("again").addEventListener("click", () => start(Number(byId("example").value || 0)));
byId("guide").addEventListener("click", () => {
  start(0);
  goTo(0);
});

/** @param {number} number */
function start(number) {
  const example = data.examples[number];
  const nonrelevant = example.state.ranking.filter((/** @type {string} */ item) => !example.state.tiers.flat().includes(item));
  Object.assign(state, { nonrelevant, penalty: "m2", alpha: 1, lam: 0.2, weights: "vertical", k: 5 }, structuredClone(example.state));
  pool = example.pool ?? POOL;
  byId("example").value = String(number);
  byId("story").textContent = example.story;
  forget();
  show();
}

/** Another list begins: nothing was before it. */
function forget() {
  picked = null;
  now = before = {};
  changed = "";
}

/** @param {string} hash */
function follow(hash) {
  unpack(hash);
  const items = [...state.tiers.flat(), ...state.nonrelevant, ...state.ranking];
  pool = items.every((item) => POOL.includes(item)) ? POOL : [];
  byId("example").value = "";
  byId("story").textContent = "";
  forget();
  show();
}

const asked = location.hash; // showing the first example would overwrite it
start(0);
if (asked) follow(asked);
else if (!wasSeen()) goTo(0, false);
window.addEventListener("hashchange", () => follow(location.hash));
