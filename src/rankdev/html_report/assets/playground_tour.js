// @ts-check
// The playground's tour: five steps next to what they are about. Who closes it is not shown it again.

const SEEN = "rankdev-playground-tour";
const STEPS = [
  ["ranking-board", "A list with one swap", "A search for museums returned five places. art-hall is above maritime-museum, but the reference has maritime-museum first. Drag art-hall below it, or focus it and press ↓: the score at the top shows before → after."],
  ["credit-board", "Credit falls with distance", "Each curve is one item: the credit that it would get at every position, 1 where it belongs. Its dot is where it is now. Point at an item to see its curve. gift-shop is not in the reference, so it gains nothing."],
  ["tolerance", "α and λ set the tolerance", "A larger α widens every curve of M2: being off by one costs less. A larger λ widens the curves of lower ranks only. Move both and watch the dots."],
  ["weights-board", "Positions have weights", "RDQ is the filled fraction of these bars: weight × credit, over the weights of the positions that count. Drag the top of a bar. Weights never increase, so its neighbours follow."],
  ["readings", "M1 next to M2", "M1 forgives an item that is too low; M2 does not. Choose one here, and the bars and the table explain it. Below are nDCG, AP, RBP and Compat for the same list. The address of this page holds your list: copy it to share."],
];
let step = -1;

/** @param {number} to the step to show; none where there is no such step @param {boolean} [focus] */
function goTo(to, focus = true) {
  if (step >= 0) byId(STEPS[step][0]).classList.remove("toured");
  step = to < STEPS.length ? to : -1;
  const panel = byId("tour");
  panel.hidden = step < 0;
  document.body.classList.toggle("touring", step >= 0);
  if (step < 0) {
    keep();
    if (focus) byId("guide").focus();
    return;
  }
  const [place, title, text] = STEPS[step];
  byId("tour-title").textContent = `${step + 1} of ${STEPS.length}: ${title}`;
  byId("tour-text").textContent = text;
  byId("back").hidden = step === 0;
  byId("next").textContent = step + 1 < STEPS.length ? "Next" : "Done";
  byId(place).classList.add("toured");
  const narrow = matchMedia("(max-width: 40rem)").matches;
  if (narrow) byId(place)[focus ? "after" : "before"](panel); // next to what it is about, which it would cover otherwise
  else document.body.append(panel);
  if (!focus) return;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  (narrow ? panel : byId(place)).scrollIntoView({ behavior: still ? "auto" : "smooth", block: narrow ? "end" : "center" });
  panel.focus({ preventScroll: true });
}

/** A browser that keeps nothing shows the tour again. */
function keep() {
  try {
    localStorage.setItem(SEEN, "yes");
  } catch {
    // private windows may refuse
  }
}

function wasSeen() {
  try {
    return localStorage.getItem(SEEN) !== null;
  } catch {
    return false;
  }
}

byId("back").addEventListener("click", () => goTo(Math.max(0, step - 1)));
byId("next").addEventListener("click", () => goTo(step + 1));
byId("close").addEventListener("click", () => goTo(STEPS.length));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && step >= 0) goTo(STEPS.length);
});
