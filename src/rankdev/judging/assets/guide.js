// @ts-check
// What judges should know: the owner's guidelines, and what a query is about.

/** @typedef {string | [string, Record<string, string>, any[]]} Tree */

// whatever the server sends, nothing else is made
const ALLOWED = new Set("h2 p ul ol li code strong em a table tr th td".split(" "));

/** Elements of a tree of Markdown. @param {Tree} tree @returns {Node} */
function grown(tree) {
  if (typeof tree === "string") return document.createTextNode(tree);
  const [tag, attributes, children] = tree;
  const made = element(ALLOWED.has(tag) ? tag : "span", {}, ...children.map(grown));
  if (tag === "a" && /^(https?:\/\/|mailto:)/i.test(attributes.href)) {
    for (const [name, value] of [["href", attributes.href], ["target", "_blank"], ["rel", "noopener noreferrer"]]) made.setAttribute(name, value);
  }
  return tag === "table" ? element("div", { class: "scroll", tabindex: "0" }, made) : made;
}

/** Show the guidelines beside what is judged: folded on a phone, or where the judge has folded them. @param {Tree[]|null} guidelines */
function showGuidelines(guidelines) {
  byId("guide").hidden = !guidelines;
  if (!guidelines) return;
  byId("guidelines").replaceChildren(...guidelines.map(grown));
  const folded = localStorage.getItem("guide");
  byId("guide-fold").open = matchMedia("(min-width: 60rem)").matches && folded !== "folded";
}

byId("guide-fold").addEventListener("toggle", () => {
  if (matchMedia("(min-width: 60rem)").matches) localStorage.setItem("guide", byId("guide-fold").open ? "open" : "folded");
});

/** Show a query and what it is about. @param {string} place @param {Query} query */
function showQuery(place, query) {
  const parts = [element("p", { class: "query" }, element("span", { class: "hint" }, text("query")), " ", element("strong", { dir: "auto" }, query.text))];
  for (const about of [query.description, query.narrative]) if (about) parts.push(element("p", { class: "about", dir: "auto" }, about));
  byId(place).replaceChildren(...parts);
}
