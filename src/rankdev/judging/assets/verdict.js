// @ts-check
// The owner's view of a comparison of systems: the verdict as it forms. Judges do not see it, whom it might sway.

const WATCHING = 5000; // ms between looks at what judges have answered meanwhile

/** @typedef {{decided: boolean, needed: number, trail: [number, string, number][]}} Verdict */

/** @param {Verdict|null} verdict @param {string} sentence */
function showVerdict(verdict, sentence) {
  byId("verdict").hidden = !verdict;
  if (!verdict) return;
  byId("verdict-now").textContent = `${verdict.decided ? "Decided" : `Not decided yet, which needs ${written(verdict.needed, 2)}`}: ${sentence}`;
  const step = Math.ceil(verdict.trail.length / 12); // a dozen rows, the last among them
  const rows = verdict.trail.filter((_, k) => (verdict.trail.length - 1 - k) % step === 0);
  byId("trail").tBodies[0].replaceChildren(
    ...rows.map(([answers, system, probability]) =>
      element("tr", {}, element("td", {}, String(answers)), element("td", { class: "text" }, named(system)), element("td", {}, written(probability, 3)), element("td", {}, bar(probability, 1, `${Math.round(100 * probability)}%`))),
    ),
  );
}

setInterval(() => state.mode === "owner" && !byId("verdict").hidden && !document.hidden && showOwner(), WATCHING);
