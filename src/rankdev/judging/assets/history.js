// @ts-check
// A judge's own earlier answers, which can be changed; the server keeps what they were before.

/** @typedef {{answer: number, query: Query, at: string, sides: Side[], outcome: string, comment: string}} Past */

/** @param {Past[]} entries */
function showHistory(entries) {
  byId("past").replaceChildren(...entries.map(pastRow));
  if (!entries.length) byId("past").append(element("li", {}, text("no_answers")));
}

/** @param {Past} entry */
function pastRow(entry) {
  const when = element("time", { class: "hint", datetime: entry.at }, new Date(entry.at).toLocaleString());
  const query = element("bdi", {}, brief(entry.query.text, 80));
  const items = entry.sides.map(nameOf);
  const about = new Intl.ListFormat(LANGUAGE, { type: "disjunction" }).format(items);
  const outcome = /** @type {HTMLSelectElement} */ (element("select", { "aria-label": text("answer_about", { items: about }) }));
  for (const { outcome: value, name } of state.choices[items.length > 1 ? "pairs" : "grades"]) {
    const place = ["first", "second"].indexOf(value);
    outcome.append(element("option", { value }, place < 0 ? name : text("is_better", { item: items[place] })));
  }
  outcome.append(element("option", { value: "skip" }, text("was_skipped")));
  outcome.value = entry.outcome;
  const comment = /** @type {HTMLInputElement} */ (element("input", { type: "text", maxlength: "2000", "aria-label": text("comment_about", { items: about }), placeholder: text("comment") }));
  comment.value = entry.comment;
  const save = /** @type {HTMLButtonElement} */ (element("button", { type: "button", disabled: "" }, text("change")));
  const pair = element("span", {}, ...items.flatMap((item, k) => [...(k ? [` ${text("or")} `] : []), element("bdi", {}, item)]));
  let request = randomId();
  for (const field of [outcome, comment]) {
    field.addEventListener("input", () => {
      request = randomId();
      save.disabled = outcome.value === entry.outcome && comment.value === entry.comment;
    });
  }
  save.addEventListener("click", () =>
    inTurn(async () => {
      const reply = await call("change", { request, answer: entry.answer, outcome: outcome.value, comment: comment.value });
      byId("saved").textContent = text("changed");
      showProgress(reply.progress);
      showHistory(reply.history);
      byId("history").querySelector("summary").focus();
    }),
  );
  return element("li", {}, when, query, pair, outcome, comment, save);
}

/** Do it after what is under way: nothing that is asked for is left out. @param {() => Promise<void>} work */
async function inTurn(work) {
  while (state.busy) await new Promise((done) => setTimeout(done, 20));
  return once(work);
}

/**
 * A function that reads something and shows it, and keeps nobody from answering meanwhile; only the newest is shown.
 * @param {() => Promise<any>} read @param {(reply: any) => void} show
 */
function reader(read, show) {
  let newest = 0;
  let failed = false;
  return async () => {
    const mine = ++newest;
    try {
      const reply = await read();
      if (mine === newest) show(reply);
      if (failed) byId("problem").textContent = "";
      failed = false;
    } catch (error) {
      failed = true;
      byId("problem").textContent = error instanceof TypeError ? text("does_not_respond") : String(/** @type {any} */ (error).message);
    }
  };
}

const readHistory = reader(
  () => call("history"),
  (reply) => byId("past").contains(document.activeElement) || showHistory(reply.history),
);

const listed = () => byId("history").open && !byId("history").hidden && readHistory();
byId("history").addEventListener("toggle", listed);
byId("history").addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => event.stopPropagation()); // no key here answers the pair above
new MutationObserver(listed).observe(byId("progress"), { childList: true });
