// @ts-check
// What judges should know: the owner's guidelines, and what a query is about.

/** Show the guidelines beside what is judged: folded on a phone, or where the judge has folded them. @param {string|null} guidelines */
function showGuidelines(guidelines) {
  byId("guide").hidden = !guidelines;
  if (!guidelines) return;
  byId("guidelines").innerHTML = guidelines; // made by the server of Markdown in which HTML is text
  for (const link of byId("guidelines").querySelectorAll("a")) Object.assign(link, { target: "_blank", rel: "noopener noreferrer" });
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
