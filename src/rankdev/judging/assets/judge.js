// @ts-check
// The judging page: one question at a time, answered by key or pointer; shows "saved" only once the server has it on disk.

/** @typedef {{item: string, title?: string, text?: string, url?: string, image?: string}} Side */
/** @typedef {{id: string, text: string, description?: string, narrative?: string}} Query */
/** @typedef {{query: Query, sides: Side[], request?: string}} Question */
/** @typedef {{mine: number, all: number, left: number, exact: boolean}} Progress */
/** @typedef {{outcome: string, key: string, sign: string, name: string, stacked?: string}} Choice */

const token = location.hash.slice(1);
const LEAST = 400; // ms that a pair must be on the screen before it can be answered: the server refuses less, too
const LOADING = 5000; // ms to wait for pictures
const ASIDE = 60000; // ms out of sight after which the question may have gone to others
const CHECK = 20000; // ms after which a page without a question asks again
const state = {
  page: randomId(), // of this tab: two tabs of a judge have different questions
  since: Infinity, // when what is on the screen could be seen
  undone: -Infinity, // when the last answer was taken back
  left: 0, // when the page went out of sight
  judge: "",
  named: false, // by the link
  owner: false,
  browser: localStorage.getItem("browser") ?? randomId(), // a name belongs to the browser that first answered under it
  mode: "pairs",
  /** @type {Question|null} */ question: null,
  /** @type {Record<string, Choice[]>} */ choices: {}, // by mode: what can be answered
  busy: false,
};

/** Send a request; an error is shown, and nothing counts as saved. @param {string} path @param {object} [asked] */
async function call(path, asked = {}) {
  const response = await fetch(`api/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
    body: JSON.stringify({ judge: state.judge, browser: state.browser, page: state.page, mode: state.mode, ...asked }),
    keepalive: path === "leave",
  });
  if (path.startsWith("export") && response.ok) return response.blob();
  const reply = await response.json();
  if (!response.ok) throw new Error(wrong(response.status, reply.error));
  return reply;
}

/** What went wrong, in words for judges; details are the server's. @param {number} status @param {string} details */
function wrong(status, details) {
  if (status === 401) return text("wrong_link");
  return status === 503 ? `${text("not_saved")} ${details}` : details;
}

/** Do one thing at a time; show errors; give whether it was done. @param {() => Promise<void>} work */
async function once(work) {
  if (state.busy) return false;
  state.busy = true;
  try {
    await work();
    byId("problem").textContent = "";
    return true;
  } catch (error) {
    const lost = error instanceof TypeError;
    byId("problem").textContent = lost ? text("no_response") : String(/** @type {any} */ (error).message);
    byId("saved").textContent = "";
    return false;
  } finally {
    state.busy = false;
  }
}

/** @param {HTMLElement} place @param {Side} side @param {Query} query */
function showSide(place, side, query) {
  const wanted = sought(query.text);
  const parts = side.title ? [element("h2", { dir: "auto" }, ...marked(side.title, wanted))] : [];
  if (side.image) parts.push(element("img", { src: side.image, alt: nameOf(side), referrerpolicy: "no-referrer" }));
  const words = side.text ?? (parts.length ? "" : side.item); // an id says little: only where there is nothing else
  if (words) parts.push(element("p", { class: "text", dir: "auto" }, ...marked(words, wanted)));
  if (side.url) parts.push(element("a", { href: side.url, target: "_blank", rel: "noopener noreferrer" }, side.url));
  place.replaceChildren(...parts);
}

/** Start the clock once everything can be seen. */
async function seen() {
  state.since = Infinity;
  const images = /** @type {HTMLImageElement[]} */ ([...byId("question").querySelectorAll("img")]);
  const shown = state.question;
  const loaded = Promise.all(images.map((image) => image.decode().catch(() => {})));
  if (images.length) await Promise.race([loaded, new Promise((done) => setTimeout(done, LOADING))]);
  if (shown === state.question) state.since = performance.now();
}

/** Whether what is on the screen was there long enough to be seen: the second click of a double click is no answer. */
const wasSeen = () => !document.hidden && performance.now() - state.since >= LEAST;

/** What a judge calls an item. @param {Side} side */
const nameOf = (side) => brief(side.title ?? side.text ?? side.item, 80);

/** Show what is done, of how much, and how much of it by this judge. @param {Progress} progress */
function showProgress({ mine, all, left, exact }) {
  const whole = !exact && all + left > 20 ? Math.max(all + 1, 5 * Math.round((all + left) / 5)) : all + left;
  const parts = [text(left ? (exact ? "done_of" : "done_of_about") : "all_done", { done: all, whole })];
  if (mine < all) parts.push(text("by_you", { mine }));
  byId("bar").hidden = false;
  byId("bar").value = all + left ? all / (all + left) : 1;
  byId("progress").textContent = parts.join(", ");
}

/** Make the choices of each mode: which of two is better, and the grades of the owner's scale. @param {{grade: number, label: string, key: string}[]|null} scale */
function setChoices(scale) {
  state.choices = {
    pairs: [
      { outcome: "first", key: "ArrowLeft", sign: "←", name: text("left_is_better"), stacked: text("upper_is_better") },
      { outcome: "tie", key: "e", sign: "E", name: text("equally_good") },
      { outcome: "second", key: "ArrowRight", sign: "→", name: text("right_is_better"), stacked: text("lower_is_better") },
    ],
  };
  if (scale) state.choices.grades = scale.map(({ grade, label, key }) => ({ outcome: String(grade), key, sign: key, name: label || String(grade) }));
}

/** A button for each choice; on a phone, items are one above the other. */
function showChoices() {
  byId("answers").setAttribute("aria-label", byId("title").textContent);
  byId("answers").replaceChildren(
    ...state.choices[state.mode].map(({ outcome, sign, name, stacked }) => {
      const words = stacked ? [element("span", { class: "beside" }, name), element("span", { class: "stacked" }, stacked)] : [name];
      const made = element("button", { type: "button", "data-outcome": outcome }, ...(sign === name ? [] : [element("kbd", {}, sign), " "]), ...words);
      made.addEventListener("click", () => answer(outcome));
      return made;
    }),
  );
}

/** @param {any} reply */
function showQuestion(reply) {
  const /** @type {Question|null} */ asked = reply.question;
  state.question = asked;
  showProgress(reply.progress);
  byId("question").hidden = !asked;
  byId("done").hidden = Boolean(asked);
  if (!asked) {
    byId("done").textContent = text(state.mode === "grades" ? "all_graded" : "no_questions_left");
    return announce(byId("done").textContent);
  }
  showQuery("query", asked.query);
  for (const [k, place] of [byId("first"), byId("second")].entries()) {
    place.hidden = k >= asked.sides.length;
    if (!place.hidden) showSide(place, asked.sides[k], asked.query);
  }
  byId("comment").value = "";
  scrollTo(0, 0);
  seen();
  const [left, right] = asked.sides.map(nameOf);
  announce(right === undefined ? text("new_item", { query: asked.query.text, item: left }) : text("new_pair", { query: asked.query.text, left, right }));
}

/** @param {string} outcome */
const answer = (outcome) =>
  once(async () => {
    const asked = state.question;
    if (!asked || !wasSeen()) return;
    const [first, second = ""] = asked.sides.map((side) => side.item);
    const reply = await call("answer", { request: requestOf(asked), query: asked.query.id, first, second, outcome, comment: byId("comment").value });
    byId("saved").textContent = text(reply.saved ? "saved" : second ? "answered_before" : "graded_before");
    showQuestion(reply);
  });

/** One id for one question on the screen: if sent again after a failure, it is still one answer. @param {Question} asked */
function requestOf(asked) {
  asked.request ??= randomId();
  return asked.request;
}

function randomId() {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(16)).join("-");
}

const undo = () =>
  once(async () => {
    if (performance.now() - state.undone < LEAST) return; // a double click takes one answer back
    state.undone = performance.now();
    const reply = await call("undo");
    byId("saved").textContent = text(reply.undone ? "undone" : "nothing_to_undo");
    showQuestion(reply);
  });

// modes and buttons

/** @param {string} mode */
function enter(mode) {
  state.mode = mode;
  if (mode !== "owner" && !state.judge) return askName();
  byId("done-so-far").hidden = mode === "owner";
  for (const id of ["who", "question", "done", "owner"]) byId(id).hidden = true;
  byId("history").hidden = mode === "owner";
  for (const button of document.querySelectorAll("[data-mode]")) button.setAttribute("aria-pressed", String(button.getAttribute("data-mode") === mode));
  byId("title").textContent = text({ pairs: "which_is_better", grades: "how_good", owner: "results_so_far" }[mode] ?? "");
  byId("saved").textContent = "";
  if (mode === "owner") {
    byId("owner").hidden = false;
    announce("");
    return showOwner();
  }
  state.question = null;
  showChoices();
  listed();
  once(async () => showQuestion(await call("next"))).then(nameAgain);
}

document.querySelector("[data-outcome=skip]")?.addEventListener("click", () => answer("skip"));
for (const button of document.querySelectorAll("[data-mode]")) button.addEventListener("click", () => enter(button.getAttribute("data-mode") ?? ""));
byId("comment").addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
  if (event.key === "Enter" || event.key === "Escape") byId("title").focus();
});
byId("undo").addEventListener("click", undo);
new ResizeObserver(() => document.body.style.setProperty("--bar", `${byId("answer-bar").offsetHeight}px`)).observe(byId("answer-bar"));
byId("who").addEventListener("submit", (/** @type {SubmitEvent} */ event) => {
  event.preventDefault();
  state.judge = byId("name").value.trim();
  if (!state.judge) return;
  localStorage.setItem("judge", state.judge);
  begin();
});

/** Buttons for the modes there are, where there is more than one. */
function showModes() {
  const modes = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-mode]")]);
  for (const button of modes) {
    const mode = button.getAttribute("data-mode") ?? "";
    button.hidden = mode === "owner" ? !state.owner : mode === "grades" && !state.choices.grades;
  }
  const several = modes.filter((button) => !button.hidden).length > 1;
  for (const button of modes) button.hidden ||= !several;
  byId("modes").hidden = false;
}

/** Ask for a name, under which answers are kept; the owner sees results without one. */
function askName() {
  for (const id of ["question", "done", "owner", "history"]) byId(id).hidden = true;
  byId("name").value = localStorage.getItem("judge") ?? "";
  byId("who").hidden = false;
  byId("name").focus();
}

/** Ask for another name where the first question was refused: it may be somebody else's. @param {boolean} done */
function nameAgain(done) {
  if (done || state.named || state.question) return;
  state.judge = "";
  askName();
}

async function begin() {
  const ready = await once(async () => {
    const page = await call("page");
    showGuidelines(page.guidelines);
    setChoices(page.scale);
  });
  if (!ready) return;
  showModes();
  enter(state.choices.grades ? "grades" : "pairs");
}

// a page out of sight, closed, or without a question

const again = () => {
  if (state.judge && byId("who").hidden && state.mode !== "owner") once(async () => refresh(await call("next")));
};

/** Show a question if it is another than the one on the screen. @param {any} reply */
function refresh(reply) {
  const names = (/** @type {Question|null} */ asked) => JSON.stringify(asked && [asked.query.id, ...asked.sides.map((side) => side.item)]);
  if (names(reply.question) !== names(state.question)) showQuestion(reply);
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) state.left = performance.now();
  else {
    if (state.since < Infinity) state.since = performance.now();
    if (performance.now() - state.left > ASIDE) again();
  }
});
addEventListener("pagehide", () => state.judge && byId("who").hidden && call("leave").catch(() => {}));
addEventListener("pageshow", (event) => event.persisted && again());
setInterval(() => !byId("done").hidden && again(), CHECK);

/** A link of one's own says who one is; with another, one gives a name. */
async function arrive() {
  /** @type {any} */ let known = {};
  localStorage.setItem("browser", state.browser);
  await once(async () => {
    known = await call("hello");
  });
  state.owner = Boolean(known.owner);
  showModes();
  if (!known.judge) return askName();
  state.judge = known.judge;
  state.named = true;
  begin();
}

document.addEventListener("DOMContentLoaded", arrive); // all scripts have run then, however late one came
