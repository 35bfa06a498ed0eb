// @ts-check
// The owner's view of the judging page: results, links of judges, exports.

/** Do it after what is under way: nothing that the owner asks for is left out. @param {() => Promise<void>} work */
async function inTurn(work) {
  while (state.busy) await new Promise((done) => setTimeout(done, 20));
  return once(work);
}

const showOwner = () =>
  inTurn(async () => {
    const reply = await call("overview", { query: byId("which").value || null });
    byId("which").replaceChildren(
      ...reply.queries.map((/** @type {any} */ entry) =>
        element("option", { value: entry.id }, `${entry.text}: ${counted(entry.items, "item")}, ${counted(entry.judgments, "judgment")}`),
      ),
    );
    byId("which").value = reply.query;
    const open = openOf({ ...reply, queries: reply.queries.length });
    const wrong = reply.error === null ? "" : `About ${Math.round(100 * reply.error)}% of what is asked for is expected to be wrong.`;
    byId("state").textContent = `${open} ${reply.verdict ?? wrong}`.trim();
    byId("found").replaceChildren(
      ...reply.tiers.map((/** @type {any[]} */ tier) => element("li", {}, ...tier.map((entry) => element("span", { class: "card" }, entry.title || entry.item)))),
    );
    if (!reply.tiers.length) byId("found").append(element("li", {}, "no judgments yet"));
    byId("judges").tBodies[0].replaceChildren(
      ...Object.entries(reply.judges).map(([name, count]) =>
        element("tr", {}, element("th", { scope: "row", class: "text" }, name), element("td", {}, String(count))),
      ),
    );
  });

for (const form of [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".txt"]) {
  const button = element("button", { type: "button" }, form);
  button.addEventListener("click", () =>
    inTurn(async () => {
      const address = URL.createObjectURL(/** @type {Blob} */ (await call("export", { form })));
      element("a", { href: address, download: `judgments${form}` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
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
byId("refresh").addEventListener("click", showOwner);
byId("which").addEventListener("input", showOwner);
