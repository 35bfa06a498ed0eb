// @ts-check
// Lists to put in order: by dragging, or by keys; each item can be opened in full.

/** @param {any} reply */
function showList(reply) {
  state.list = reply.items ? reply : null;
  state.question = null;
  showProgress(reply.progress, reply.undone);
  byId("list").hidden = !state.list;
  byId("done").hidden = Boolean(state.list);
  if (!state.list) return announce(text("no_questions_left"));
  state.tiers = state.list.items.map((side) => [side.item]);
  showQuery("list-query", reply.query);
  showTiers();
  seen("tiers");
  announce(many("new_list", state.list.items.length, { query: reply.query.text }));
}

/** @param {Side} side */
function card(side) {
  const name = side.title ?? side.item;
  const made = element("span", { class: "card", tabindex: "0", role: "button", "aria-label": name }, element("span", { class: "grip", "aria-hidden": "true" }, "⠿"), name);
  made.dataset.item = side.item;
  const image = imageOf(side);
  if (image) made.append(image);
  if (side.text) made.append(element("small", {}, side.text.slice(0, 160)));
  const open = element("button", { type: "button", class: "open", "aria-label": text("open_item", { item: name }), title: text("open_item", { item: name }) }, "⤢");
  open.addEventListener("click", () => openItem(side));
  made.addEventListener("dblclick", () => openItem(side));
  return element("span", { class: "entry" }, made, open);
}

/** Show an item in full. @param {Side} side */
function openItem(side) {
  if (!state.list) return;
  showSide(byId("opened-item"), side, state.list.query);
  byId("opened").showModal();
}

function showTiers() {
  const sides = new Map(state.list?.items.map((side) => [side.item, side]));
  const rows = [element("li", { class: "between", "data-between": "0" })];
  state.tiers.forEach((tier, t) => {
    rows.push(element("li", { "data-tier": String(t), value: String(t + 1) }, ...tier.map((item) => card(/** @type {Side} */ (sides.get(item))))));
    rows.push(element("li", { class: "between", "data-between": String(t + 1) }));
  });
  byId("tiers").replaceChildren(...rows);
}

/** Put an item into a tier, or into a new one before it. @param {string} item @param {number} at @param {boolean} alone */
function place(item, at, alone) {
  const tiers = state.tiers.map((tier) => tier.filter((name) => name !== item));
  if (alone) tiers.splice(at, 0, [item]);
  else tiers[at].push(item);
  state.tiers = tiers.filter((tier) => tier.length);
  showTiers();
}

/** By keys an item joins the next tier, or leaves its tier for one of its own. @param {string} item @param {number} step */
function move(item, step) {
  const at = state.tiers.findIndex((tier) => tier.includes(item));
  if (state.tiers[at].length > 1) place(item, step > 0 ? at + 1 : at, true);
  else if (at + step >= 0 && at + step < state.tiers.length) place(item, at + step, false);
  const cards = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("#tiers .card")]);
  cards.find((made) => made.dataset.item === item)?.focus();
}

const saveList = () =>
  once(async () => {
    if (!state.list || !wasSeen()) return;
    const reply = await call("ranking", { request: requestOf(state.list), query: state.list.query.id, shown: state.list.items.map((side) => side.item), tiers: state.tiers });
    byId("saved").textContent = text(reply.saved ? "saved" : "answered_before");
    showList(reply);
  });

letDrag(byId("tiers"), ".card", "#tiers > li", (held, to) => {
  if (to) place(held.dataset.item ?? "", Number(to.dataset.between ?? to.dataset.tier), to.dataset.between !== undefined);
});
byId("save").addEventListener("click", saveList);
byId("undo-list").addEventListener("click", undo);
