// @ts-check
// The playground: state → page, and every way to change the state. Its numbers are computed in arithmetic.js.

const data = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("data")).textContent || "{}");
const POOL = [...Array.from({ length: 20 }, (_, i) => `d${i + 1}`), ...Array.from({ length: 5 }, (_, i) => `x${i + 1}`)];
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

/** @param {string} item @param {string} zone @param {number} tier @param {number} index */
function chip(item, zone, tier, index) {
  const inside = reference().has(item) ? "" : " outside";
  const place = zone === "reference" ? ` rank ${tier + 1}` : zone === "ranking" ? ` position ${index + 1}` : "";
  const name = zone === "pool" ? item : `${item}, ${zone}${place}`;
  const made = element("span", { class: `item${inside}`, tabindex: "0", role: "button", "aria-label": name }, item);
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
      element("li", { "data-zone": "ranking", "data-index": String(i) }, chip(item, "ranking", 0, i)),
    ),
  );
  byId("pool").replaceChildren(...POOL.map((item, i) => chip(item, "pool", 0, i)));
}

function showSettings() {
  for (const name of ["k", "alpha", "lam"]) {
    byId(name).value = String(state[/** @type {"k"} */ (name)]);
    byId(`${name}-value`).textContent = String(state[/** @type {"k"} */ (name)]);
  }
  byId("penalty").value = state.penalty;
  byId("weights").value = state.weights;
  byId("own").value = state.own;
  byId("own").disabled = state.weights !== "own";
  byId("alpha").disabled = byId("lam").disabled = state.penalty === "m1";
}

function measureText() {
  const parts = [];
  if (state.penalty === "m1") parts.push("penalty=m1");
  if (state.penalty === "m2" && state.alpha !== 1) parts.push(`alpha=${state.alpha}`);
  if (state.penalty === "m2" && state.lam !== 0.2) parts.push(`lam=${state.lam}`);
  const weights = positionWeights();
  if (state.weights === "own" && typeof weights !== "string") parts.push(`weights=[${weights.head}],tail=${weights.tail}`);
  else if (state.weights !== "vertical") parts.push(`weights=${state.weights}`);
  return `RDQ${parts.length ? `(${parts.join(",")})` : ""}@${state.k}`;
}

function showScore() {
  const weights = positionWeights();
  const problem = typeof weights === "string" ? weights : state.tiers.length === 0 ? "the reference is empty; add an item" : "";
  byId("problem").textContent = problem;
  if (typeof weights === "string" || problem) return;
  const known = reference();
  const settings = /** @type {Settings} */ ({ ...state, weights: weights.head, tail: weights.tail });
  const { score, rows } = rdq(known, state.ranking, settings, new Set(state.nonrelevant));
  byId("text").textContent = measureText();
  byId("score").textContent = written(score);
  const most = Math.max(...rows.map((row) => row.earned + Math.max(0, row.lost)));
  byId("positions").tBodies[0].replaceChildren(
    ...rows.map((row) => {
      const attainable = row.earned + Math.max(0, row.lost);
      const label = `${written(row.earned)} of ${written(attainable)}`;
      const cells = [row.item ?? "–", String(row.rank ?? "–"), String(row.ideal), String(row.weight), written(row.credit, 2)];
      return element(
        "tr",
        {},
        element("th", { scope: "row" }, String(row.position)),
        ...cells.map((text) => element("td", {}, text)),
        element("td", {}, bar(row.earned / most, attainable / most, label)),
        element("td", {}, written(row.earned)),
        element("td", {}, written(row.lost)),
        element("td", { class: "text" }, row.why),
      );
    }),
  );
  const k = state.k;
  const peers = /** @type {[string, number][]} */ ([
    [measureText(), score],
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
        element("th", { scope: "row", class: "text" }, name),
        element("td", {}, written(value)),
        element("td", {}, bar(value, value, `${written(value)} of 1`)),
      ),
    ),
  );
}

/** @param {boolean} [remember] */
function show(remember = true) {
  showBoards();
  showSettings();
  showScore();
  if (remember) history.replaceState(null, "", `#${new URLSearchParams(packed())}`);
}

function packed() {
  const { tiers, nonrelevant, ranking, ...settings } = state;
  const texts = Object.entries(settings).map(([name, value]) => [name, String(value)]);
  return { reference: tiers.map((tier) => tier.join(",")).join(";"), nonrelevant: nonrelevant.join(","), ranking: ranking.join(","), ...Object.fromEntries(texts) };
}

/** Restore the state from a link; what a link does not name stays. @param {string} hash */
function unpack(hash) {
  const asked = new URLSearchParams(hash.replace(/^#/, ""));
  const known = (/** @type {string} */ text) => [...new Set(text.split(",").filter((item) => POOL.includes(item)))];
  const tiers = asked.get("reference");
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
  for (const name of /** @type {const} */ (["penalty", "weights"])) {
    const value = asked.get(name);
    if (value && [...byId(name).options].some((option) => option.value === value)) state[name] = value;
  }
  state.own = asked.get("own") ?? state.own;
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
  const step = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 }[event.key] ?? 0;
  if (step && zone === "ranking") intoRanking(item, Math.max(0, Number(index) + step));
  else if (step && zone === "reference") moveInReference(item, step);
  else if (event.key === "Delete" || event.key === "Backspace") takeOut(item, zone);
  else if (event.key === "Enter" && zone === "pool") intoRanking(item, state.ranking.length);
  else if (event.key.toLowerCase() === "r" && zone === "pool") intoReference(item, state.tiers.length, true);
  else if (event.key.toLowerCase() === "n" && zone === "pool") intoNonrelevant(item);
  else return;
  event.preventDefault();
  show();
  const chips = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".item")]);
  (chips.find((made) => made.dataset.item === item && made.dataset.zone === zone) ?? chips[0])?.focus();
});

letDrag(document, "[data-item]", "[data-zone], .tiers, .list, .judged, .pool", (held, place) => {
  const { item = "", zone } = held.dataset;
  if (!place || place.id === "pool" || place.dataset.zone === "pool") takeOut(item, zone);
  else if (place.id === "ranking" || place.dataset.zone === "ranking") intoRanking(item, Number(place.dataset.index ?? state.ranking.length));
  else if (place.id === "nonrelevant" || place.dataset.zone === "nonrelevant") intoNonrelevant(item);
  else intoReference(item, Number(place.dataset.tier ?? state.tiers.length), place.classList.contains("new"));
  show();
});

for (const name of /** @type {const} */ (["k", "alpha", "lam"])) {
  byId(name).addEventListener("input", () => {
    state[name] = Number(byId(name).value);
    show();
  });
}
for (const name of /** @type {const} */ (["penalty", "weights", "own"])) {
  byId(name).addEventListener("input", () => {
    state[name] = byId(name).value;
    showSettings();
    showScore();
  });
}

byId("example").append(element("option", { value: "", hidden: "" }, "your own"), ...data.examples.map((/** @type {any} */ example, /** @type {number} */ i) => element("option", { value: String(i) }, example.name)));
byId("example").addEventListener("input", () => start(data.examples[Number(byId("example").value)]));

/** @param {any} example */
function start(example) {
  Object.assign(state, { nonrelevant: [], penalty: "m2", alpha: 1, lam: 0.2, weights: "vertical", k: 5 }, structuredClone(example.state));
  byId("story").textContent = example.story;
  show();
}

const asked = location.hash; // showing the first example would overwrite it
byId("example").value = "0";
start(data.examples[0]);
if (asked) follow(asked);
window.addEventListener("hashchange", () => follow(location.hash));

/** @param {string} hash */
function follow(hash) {
  unpack(hash);
  byId("example").value = "";
  byId("story").textContent = "";
  show(false);
}
