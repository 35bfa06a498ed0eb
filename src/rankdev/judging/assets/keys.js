// @ts-check
// Keys: what they do, a list of them, and a way to switch them off, since dictated or mistyped letters would answer.

const shortcuts = { on: localStorage.getItem("shortcuts") !== "off" };

/** Whether ↓ scrolls the page. */
const scrolls = () => document.documentElement.scrollHeight > document.documentElement.clientHeight + 1;

/** What the keys do on the screen, each with the name of its text.
 * @returns {[string[], string, () => unknown][]} */
function keysNow() {
  /** @type {[string[], string, () => unknown][]} */ const keys = [];
  if (state.mode !== "owner" && !byId("question").hidden) {
    for (const { outcome, key, name } of state.choices[state.mode]) {
      const also = outcome === "tie" && !scrolls() ? ["ArrowDown"] : [];
      keys.push([[key, ...also], name, () => answer(outcome)]);
    }
    keys.push([["s"], text("skip"), () => answer("skip")]);
  }
  if (state.judge && byId("who").hidden && state.mode !== "owner") keys.push([["u"], text("undo"), undo]);
  keys.push([["?"], text("keyboard_help"), showKeys]);
  return keys;
}

const SIGNS = new Map([["ArrowLeft", "←"], ["ArrowRight", "→"], ["ArrowDown", "↓"]]);

/** A key as it is written on keyboards. @param {string} key */
const sign = (key) => SIGNS.get(key) ?? key.toUpperCase();

/** List the keys of the screen. */
function showKeys() {
  byId("key-list").replaceChildren(
    ...keysNow().flatMap(([keys, what]) => [element("dt", {}, ...keys.flatMap((key) => [element("kbd", {}, sign(key)), " "])), element("dd", {}, what)]),
  );
  byId("shortcuts").checked = shortcuts.on;
  byId("keys").showModal();
}

function showShortcuts() {
  document.body.classList.toggle("no-shortcuts", !shortcuts.on);
}

document.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (target.closest("dialog")) return;
  if (event.repeat && target.matches("button") && event.key === "Enter") event.preventDefault(); // a key held down is one click
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || target.matches("input, select, textarea")) return;
  if (event.shiftKey && event.key !== "?") return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const found = shortcuts.on ? keysNow().find(([keys]) => keys.includes(key)) : undefined;
  if (!found) return;
  found[2]();
  event.preventDefault();
});

byId("help").addEventListener("click", showKeys);
byId("shortcuts").addEventListener("change", () => {
  shortcuts.on = byId("shortcuts").checked;
  localStorage.setItem("shortcuts", shortcuts.on ? "on" : "off");
  showShortcuts();
});
showShortcuts();

// for those who hear the page

/** Announce what is new on the screen; focus that was on something now hidden comes back to the title. @param {string} what */
function announce(what) {
  byId("live").textContent = what;
  const focused = document.activeElement;
  if (!focused || focused === document.body || focused.closest("[hidden]")) byId("title").focus({ preventScroll: true });
}
