// @ts-check
// Dragging with a pointer: a copy follows it, and the place below is highlighted until the pointer is released.

/** @param {HTMLElement|Document} area @param {string} things what can be dragged @param {string} places where it can be dropped
 *  @param {(held: HTMLElement, place: HTMLElement|null) => void} drop called when something was moved */
function letDrag(area, things, places, drop) {
  area.addEventListener("pointerdown", (event) => {
    const pressed = /** @type {PointerEvent} */ (event);
    const held = /** @type {HTMLElement|null} */ (/** @type {Element} */ (pressed.target).closest(things));
    if (!held || pressed.button) return;
    const ghost = /** @type {HTMLElement} */ (held.cloneNode(true));
    ghost.classList.add("ghost");
    ghost.removeAttribute("data-item"); // only one element represents an item
    /** @type {HTMLElement|null} */ let over = null;
    const point = (/** @type {HTMLElement|null} */ place) => {
      over?.classList.remove("over");
      place?.classList.add("over");
      over = place;
    };
    const follow = (/** @type {PointerEvent} */ at) => {
      if (!ghost.isConnected) document.body.append(ghost);
      held.classList.add("dragged");
      ghost.style.left = `${at.clientX + 4}px`;
      ghost.style.top = `${at.clientY + 4}px`;
      point(document.elementFromPoint(at.clientX, at.clientY)?.closest(places) ?? null);
    };
    const listening = new AbortController();
    const end = (/** @type {boolean} */ dropped) => {
      listening.abort();
      const [moved, place] = [ghost.isConnected, over];
      ghost.remove();
      held.classList.remove("dragged");
      point(null);
      if (moved && dropped) drop(held, place);
    };
    document.addEventListener("pointermove", follow, listening);
    document.addEventListener("pointerup", () => end(true), listening);
    document.addEventListener("pointercancel", () => end(false), listening); // a finger that scrolls drops nothing
  });
}
