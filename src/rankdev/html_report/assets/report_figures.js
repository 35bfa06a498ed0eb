// @ts-check
// Figures as SVG. Each has a text label, and its numbers are in a table next to it.

/** Differences of two systems, those in favour of A first, as one line per query.
 *  @param {number[]} values @param {boolean} lower whether lower values are better @param {number} chosen the line to mark, or -1 @param {number} width @param {string} label
 *  @param {(index: number) => void} pick @param {(index: number) => string} tipOf */
function drawDifferences(values, lower, chosen, width, label, pick, tipOf) {
  const [left, right, height] = [48, width - 8, 190];
  const most = Math.max(1e-6, ...values.map(Math.abs));
  const step = (right - left) / Math.max(1, values.length);
  const x = (/** @type {number} */ i) => left + (i + 0.5) * step;
  const y = (/** @type {number} */ value) => height / 2 - (value / most) * (height / 2 - 12);
  const drawn = svg("svg", { class: "pick", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  for (const at of [-most, 0, most]) {
    drawn.append(
      svg("line", { class: "axis", x1: left, x2: right, y1: y(at), y2: y(at) }),
      svg("text", { class: "dim", x: left - 6, y: y(at) + 4, "text-anchor": "end" }, signed(at, 2)),
    );
  }
  if (chosen >= 0) drawn.append(svg("rect", { class: "chosen", x: x(chosen) - Math.max(step, 6) / 2, y: 0, width: Math.max(step, 6), height }));
  for (const side of ["a", "b"]) {
    const mine = values.map((value, i) => [i, value]).filter(([, value]) => ((side === "a") === lower ? value < 0 : value > 0));
    const path = mine.map(([i, value]) => `M${x(i).toFixed(2)} ${y(0)}V${y(value).toFixed(2)}`).join("");
    drawn.append(svg("path", { class: side, d: path, "stroke-width": Math.max(0.6, Math.min(14, step * 0.75)), fill: "none" }));
  }
  const indexAt = (/** @type {MouseEvent} */ event) => {
    const inside = drawn.getBoundingClientRect();
    const index = Math.floor((((event.clientX - inside.left) / inside.width) * width - left) / step);
    return index >= 0 && index < values.length ? index : -1;
  };
  drawn.addEventListener("click", (event) => {
    if (indexAt(event) >= 0) pick(indexAt(event));
  });
  drawn.addEventListener("mousemove", (event) => showTip(indexAt(event) < 0 ? "" : tipOf(indexAt(event)), event.clientX, event.clientY));
  drawn.addEventListener("mouseleave", () => showTip("", 0, 0));
  return drawn;
}

/** A text next to the pointer; none where it is empty. @param {string} text @param {number} x @param {number} y */
function showTip(text, x, y) {
  const tip = byId("tip");
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 12, window.innerWidth - width - 4))}px`;
  tip.style.top = `${y + 16 + height > window.innerHeight ? y - height - 8 : y + 16}px`;
}
