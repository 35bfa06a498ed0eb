// @ts-check
// Grading: one item at a time, on the owner's scale.

/** @typedef {{grade: number, label: string, key: string}} Grade */

/** @type {Grade[]} */ let scale = [];

/** Make a button for each grade; without a scale there is no grading. @param {Grade[]|null} grades */
function showScale(grades) {
  scale = grades ?? [];
  document.querySelector('[data-mode="grades"]')?.toggleAttribute("hidden", !grades);
  byId("scale").replaceChildren(
    ...scale.map(({ grade, label, key }) => {
      const name = label || String(grade);
      const made = element("button", { type: "button", "data-grade": String(grade) }, ...(name === key ? [name] : [element("kbd", {}, key), ` ${name}`]));
      made.addEventListener("click", () => giveGrade(grade));
      return made;
    }),
  );
}

/** @param {any} reply */
function showGrading(reply) {
  state.grading = reply.grading;
  state.question = null;
  showProgress(reply.progress, false);
  byId("grades").hidden = !reply.grading;
  byId("all-graded").hidden = Boolean(reply.grading);
  if (!reply.grading) return announce(text("all_graded"));
  showQuery("grade-query", reply.grading.query);
  showSide(byId("graded"), reply.grading.side, reply.grading.query);
  byId("grade-comment").value = "";
  scrollTo(0, 0);
  seen("grades");
  announce(text("new_item", { query: reply.grading.query.text, item: nameOf(reply.grading.side) }));
}

/** Show an item if it is another than the one on the screen: that may have gone to others. @param {any} reply */
function refreshGrading(reply) {
  const names = (/** @type {any} */ asked) => JSON.stringify(asked && [asked.query.id, asked.side.item]);
  if (names(reply.grading) !== names(state.grading)) showGrading(reply);
}

/** @param {number|null} grade null skips the item */
const giveGrade = (grade) =>
  once(async () => {
    const asked = state.grading;
    if (!asked || !wasSeen()) return;
    const reply = await call("grade", { request: requestOf(asked), query: asked.query.id, item: asked.side.item, grade, comment: byId("grade-comment").value });
    byId("saved").textContent = text(reply.saved ? "saved" : "graded_before");
    showGrading(reply);
  });

const undoGrade = () =>
  once(async () => {
    if (performance.now() - state.undone < LEAST) return; // a double click takes one grade back
    state.undone = performance.now();
    const reply = await call("undo-grade");
    byId("saved").textContent = text(reply.undone ? "undone" : "nothing_to_undo");
    showGrading(reply);
  });

byId("skip-grade").addEventListener("click", () => giveGrade(null));
byId("undo-grade").addEventListener("click", undoGrade);
