// @ts-check
// The playground's figures: what credit each item would earn at each position, and bars of weights that can be dragged.

const [WIDE, HIGH, LEFT, BOTTOM, TOP] = [320, 190, 30, 24, 12];

/**
 * Credit by position: a curve for each returned item of the reference, and a dot where the item is.
 * @param {HTMLElement} into @param {string} title @param {Reference} reference @param {Settings} settings @param {Row[]} rows
 */
function drawCurves(into, title, reference, settings, rows) {
  const x = (/** @type {number} */ position) => LEFT + ((position - 0.5) / settings.k) * (WIDE - LEFT - 6);
  const y = (/** @type {number} */ credit) => TOP + (1 - credit) * (HIGH - TOP - BOTTOM);
  const ideal = idealRanks(reference, settings.k);
  const between = (/** @type {number} */ at) => {
    const i = Math.min(Math.floor(at), settings.k - 1);
    return ideal[i] + (at - i) * ((ideal[i + 1] ?? ideal[i]) - ideal[i]);
  };
  const label = rows.filter((row) => row.item !== null).map((row) => `position ${row.position}: ${written(row.credit, 2)}`);
  const drawn = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `${title}. Credit at ${label.join(", ")}` });
  for (const credit of [0, 0.5, 1]) {
    drawn.append(
      svg("line", { class: "axis", x1: LEFT, x2: WIDE, y1: y(credit), y2: y(credit) }),
      svg("text", { x: LEFT - 5, y: y(credit) + 4, "text-anchor": "end" }, String(credit)),
    );
  }
  for (let i = 1; i <= settings.k; i++) drawn.append(svg("text", { x: x(i), y: HIGH - 8, "text-anchor": "middle" }, String(i)));
  const steps = Array.from({ length: 12 * (settings.k - 1) + 1 }, (_, i) => i / 12);
  const dots = [];
  for (const { item, rank, position, credit, ideal } of rows) {
    if (item === null) continue;
    if (rank !== null) {
      const points = steps.map((at) => `${x(at + 1).toFixed(1)},${y(creditOf(between(at), rank, reference.size, settings)).toFixed(1)}`);
      drawn.append(svg("polyline", { class: "curve", points: points.join(" "), "data-drawn": item }));
    }
    const kind = rank === null ? "dot outside" : credit < 1 ? "dot less" : "dot";
    const place = rank === null ? "not in the reference" : `rank ${rank}, where rank ${ideal} belongs`;
    const dot = svg("circle", { class: kind, cx: x(position), cy: y(credit), r: settings.k > 10 ? 4.5 : 6, "data-drawn": item });
    dot.append(svg("title", {}, `${visible(item)}: ${place}; credit ${written(credit, 2)}`));
    dots.push(dot);
  }
  drawn.append(...dots);
  into.replaceChildren(element("figcaption", {}, title), drawn);
}

/**
 * A bar for each position: as high as its weight, filled as far as its item earned it; its top is a slider.
 * @param {HTMLElement} into @param {Settings} settings @param {Row[]} rows @param {number} size of the reference: positions past it add nothing to the best score
 */
function drawBars(into, settings, rows, size) {
  while (into.children.length > settings.k) into.lastElementChild?.remove();
  while (into.children.length < settings.k) into.append(makeBar(into.children.length));
  const most = Math.max(1, settings.weights[0]);
  [...into.children].forEach((column, i) => {
    const [value, bar, grip] = /** @type {HTMLElement[]} */ ([...column.children]);
    const weight = weightAt(i, settings);
    column.classList.toggle("past", i >= size);
    const text = String(Number(weight.toFixed(settings.k > 12 ? 2 : 3)));
    value.textContent = settings.k > 12 ? text.replace(/^0/, "") : text;
    bar.style.height = grip.style.bottom = `${(100 * weight) / most}%`;
    /** @type {HTMLElement} */ (bar.firstElementChild).style.height = `${100 * (rows[i]?.credit ?? 0)}%`;
    grip.ariaValueNow = String(Number(weight.toFixed(4)));
    grip.ariaValueMax = String(most);
  });
}

/** @param {number} i */
function makeBar(i) {
  const slider = { role: "slider", tabindex: "0", "aria-orientation": "vertical", "aria-valuemin": "0.01", "data-weight": String(i) };
  return element(
    "div",
    {},
    element("span", { class: "value", "aria-hidden": "true" }),
    element("div", { class: "weight" }, element("div", { class: "earned" })),
    element("div", { class: "grip", ...slider, "aria-label": `weight of position ${i + 1}` }),
    element("span", { class: "place", "aria-hidden": "true" }, String(i + 1)),
  );
}

/** Let the tops of bars be moved. @param {HTMLElement} area @param {(i: number, weight: (now: number, most: number) => number) => void} set */
function letWeigh(area, set) {
  const grip = (/** @type {Event} */ event) => /** @type {HTMLElement|null} */ (/** @type {Element} */ (event.target).closest("[data-weight]"));
  area.addEventListener("pointerdown", (event) => {
    const held = grip(event);
    if (!held || event.button) return;
    event.preventDefault();
    held.focus({ preventScroll: true });
    held.setPointerCapture(event.pointerId);
  });
  area.addEventListener("pointermove", (event) => {
    const held = grip(event);
    if (!held?.hasPointerCapture(event.pointerId)) return;
    const box = /** @type {HTMLElement} */ (held.parentElement).getBoundingClientRect();
    const share = (box.bottom - event.clientY) / box.height;
    set(Number(held.dataset.weight), (_, most) => Math.round(share * most * 50) / 50);
  });
  area.addEventListener("keydown", (event) => {
    const held = grip(event);
    const step = { ArrowUp: 0.05, ArrowRight: 0.05, ArrowDown: -0.05, ArrowLeft: -0.05, PageUp: 0.2, PageDown: -0.2, Home: -Infinity, End: Infinity }[event.key];
    if (!held || !step) return;
    event.preventDefault();
    set(Number(held.dataset.weight), (now) => now + step);
  });
}

/** Weights with one of them changed, and its neighbours as far as weights must not increase. The last one repeats.
 *  @param {{head: number[], tail: number}} weights @param {number} i @param {number} asked */
function reweighted({ head, tail }, i, asked) {
  const most = Math.max(1, head[0]);
  const weight = Number(Math.min(most, Math.max(0.01, asked)).toFixed(4));
  const all = Array.from({ length: Math.max(head.length, i + 1) + 1 }, (_, at) => head[at] ?? tail);
  const made = all.map((now, at) => (at < i ? Math.max(now, weight) : at > i ? Math.min(now, weight) : weight));
  while (made.length > 1 && made[made.length - 1] === made[made.length - 2]) made.pop();
  return made;
}
