// @ts-check
// The owner's view of the judging page: results, links of judges, exports.

const LIVE = 15000; // ms after which results are read again
const PAUSE = 20; // times what that took, at least: judges come first
let due = Infinity;

const showOwner = reader(
  async () => {
    const began = performance.now();
    due = Infinity;
    try {
      return await call("overview", { query: byId("which").value || null });
    } finally {
      due = performance.now() + Math.max(LIVE, PAUSE * (performance.now() - began));
    }
  },
  (reply) => {
    byId("which").replaceChildren(
      ...reply.queries.map((/** @type {any} */ entry) =>
        element("option", { value: entry.id }, `${entry.text}: ${counted(entry.items, "item")}, ${counted(entry.judgments, "judgment")}`),
      ),
    );
    byId("which").value = reply.query;
    const open = reply.open ? `${reply.open} of ${counted(reply.queries.length, "query")} unsettled; about ${counted(reply.left, "answer")} left.` : "";
    const lost = reply.given_up ? `${counted(reply.given_up, "query")} given up after twice the answers that sorting needs.` : "";
    const wrong = reply.error === null ? "" : `About ${Math.round(100 * reply.error)}% of what is asked for is expected to be wrong.`;
    const gone = reply.left_out ? `${counted(reply.left_out, "answer")} left out: about items that are not there any more.` : "";
    byId("state").textContent = [open, lost || (open ? "" : "All queries are settled."), wrong, gone].filter(Boolean).join(" ");
    byId("found").replaceChildren(
      ...reply.tiers.map((/** @type {any[]} */ tier) => element("li", {}, ...tier.map(card))),
    );
    if (!reply.tiers.length) byId("found").append(element("li", {}, "no judgments yet"));
    const texts = new Map(reply.queries.map((/** @type {any} */ entry) => [entry.id, entry.text]));
    showJudges(reply.judges, reply.remarks);
    byId("comments").tBodies[0].replaceChildren(
      ...reply.comments.map((/** @type {any} */ said) =>
        row(said.worker, ...[texts.get(said.query) ?? said.query, said.first, said.second].map((cell) => element("td", { class: "text" }, named(cell))), element("td", { class: "text noticed" }, named(said.comment, 2000))),
      ),
    );
    byId("models").replaceChildren(...Object.values(reply.models).map((/** @type {any} */ lines) => element("p", {}, lines.join(" "))));
  },
);

/** An item by what judges see of it, and its id, by which references name it. @param {{item: string, name: string}} entry */
const card = ({ item, name }) => element("span", { class: "card" }, named(name, 160), ...(item === name ? [] : [" ", element("small", { class: "hint" }, named(item))]));

/** A fraction as text. @param {number} part */
const percent = (part) => `${Math.round(100 * part)}%`;

/** A fraction, and below it its limits and its cases. @param {number|null} value @param {number} low @param {number} high @param {number} n */
function share(value, low, high, n) {
  if (value === null) return element("td", {}, "–");
  return element("td", {}, percent(value), element("small", {}, `${percent(low)} to ${percent(high)}; ${n}`));
}

/** @param {number|null} value */
const seconds = (value) => (value === null ? "–" : value.toFixed(1));

/** @param {string} name @param {(string|Node)[]} cells */
const row = (name, ...cells) => element("tr", {}, element("th", { scope: "row", class: "text" }, named(name)), ...cells.map((cell) => (typeof cell === "string" ? element("td", {}, cell) : cell)));

/** What answers say about the judges. @param {any[]} judges @param {string[]} remarks */
function showJudges(judges, remarks) {
  const parts = (/** @type {any} */ judge, /** @type {string} */ part) => share(judge[part], judge[`${part}_low`], judge[`${part}_high`], judge[`${part}_n`]);
  byId("judges").tBodies[0].replaceChildren(
    ...judges.map((judge) =>
      row(judge.judge, element("td", { class: "text noticed" }, judge.noticed), String(judge.answers), String(judge.skips), seconds(judge.seconds), ...["left", "gold", "others"].map((part) => parts(judge, part))),
    ),
  );
  byId("remarks").replaceChildren(...remarks.map((remark) => element("li", {}, remark)));
}

for (const form of [".csv", ".tsv", ".jsonl", ".json", ".parquet"]) {
  const button = element("button", { type: "button" }, form);
  button.addEventListener("click", () =>
    inTurn(async () => {
      const what = byId("what").value;
      const safe = byId("safe").checked && [".csv", ".tsv"].includes(form);
      save(`${what}${form}`, /** @type {Blob} */ (await call("export", { form, what, safe })));
    }),
  );
  byId("exports").append(button);
}

// links of judges

/** @param {object} [asked] */
const changeLinks = (asked = {}) =>
  inTurn(async () => {
    const reply = await call("links", asked);
    byId("common").checked = reply.common;
    byId("common-link").textContent = reply.common ? reply.link : "";
    byId("links").tBodies[0].replaceChildren(
      ...reply.personal.map((/** @type {any} */ entry) => {
        const button = element("button", { type: "button", "aria-label": `${entry.link ? "Revoke the link of" : "New link for"} ${entry.name}` }, entry.link ? "Revoke" : "New link");
        button.addEventListener("click", () => changeLinks(entry.link ? { revoke: entry.name } : { make: entry.name }));
        return element("tr", {}, element("th", { scope: "row", class: "text" }, named(entry.name)), element("td", { class: "text" }, entry.link ? element("code", {}, entry.link) : "revoked"), element("td", {}, button));
      }),
    );
  });

byId("new-link").addEventListener("submit", (/** @type {SubmitEvent} */ event) => {
  event.preventDefault();
  const name = byId("new-judge").value.trim();
  if (name) changeLinks({ make: name }).then(() => (byId("new-judge").value = ""));
});
byId("common").addEventListener("change", () => changeLinks({ common: byId("common").checked }));
byId("judges-links").addEventListener("toggle", () => byId("judges-links").open && changeLinks());
/** Whether results are to be read again: not while the owner chooses or writes something. */
const isDue = () => state.mode === "owner" && !byId("owner").hidden && !document.hidden && performance.now() > due && !document.activeElement?.matches("select, input");
setInterval(() => isDue() && showOwner(), 1000);
byId("refresh").addEventListener("click", showOwner);
byId("which").addEventListener("input", showOwner);
