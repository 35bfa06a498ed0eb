// @ts-check
// Names that are too long: shortened where they agree, and never to the same text.

const SEPARATORS = /[-_./:\s]/;

/** How many characters all have in common from the start, or from the end. @param {string[][]} names @param {boolean} [fromEnd] */
function agreement(names, fromEnd = false) {
  const shortest = Math.min(...names.map((name) => name.length));
  const at = (/** @type {string[]} */ name, /** @type {number} */ i) => name[fromEnd ? name.length - 1 - i : i];
  let count = 0;
  while (count < shortest && names.every((name) => at(name, count) === at(names[0], count))) count++;
  return count;
}

/** Short forms of names, of at most so many characters each, in their order. @param {string[]} full @param {number} most @returns {string[]} */
function shortened(full, most) {
  const names = full.map((text) => [...visible(text)]);
  const long = names.flatMap((name, i) => (name.length > most ? [i] : []));
  const made = names.map((name) => name.join(""));
  if (long.length) shorten(long, names, made, most);
  const used = new Set();
  made.forEach((text, i) => {
    if (names[i].length <= most && !used.has(text)) used.add(text);
    else if (names[i].length <= most) made[i] = numbered(text, most, used); // escapes made two names one
  });
  for (const i of long) made[i] = used.has(made[i]) ? numbered(made[i], most, used) : (used.add(made[i]), made[i]);
  return made;
}

/** @param {string} text @param {number} most @param {Set<string>} used */
function numbered(text, most, used) {
  for (let n = 2; ; n++) {
    const end = `·${n}`;
    const tried = [...text].slice(0, Math.max(0, most - end.length)).join("") + end;
    if (used.has(tried)) continue;
    used.add(tried);
    return tried;
  }
}

/** Shorten some of the names; those that come out equal once more, by what they agree in among themselves.
 *  @param {number[]} some @param {string[][]} names @param {string[]} made @param {number} most @param {number} [depth] */
function shorten(some, names, made, most, depth = 0) {
  const mine = some.map((i) => names[i]);
  let [before, after] = some.length > 1 ? [agreement(mine), agreement(mine, true)] : [0, 0];
  const shortest = Math.min(...mine.map((name) => name.length));
  const word = mine[0].slice(0, before).findLastIndex((character) => SEPARATORS.test(character));
  if (!depth && word >= 0) before = word + 1; // whole words
  const end = mine[0].slice(mine[0].length - after).findIndex((character) => SEPARATORS.test(character));
  after = end < 0 ? 0 : after - end; // "-k-100" and "-k-1000" agree in no word
  const longest = Math.max(...mine.map((name) => name.length));
  if (longest - before + (before > 1 ? 1 : 0) <= most) after = 0; // what agrees at the end fits
  if (before + after >= shortest) after = Math.max(0, shortest - before - 1);
  for (const i of some) {
    const core = [...(before > 1 ? ["…"] : names[i].slice(0, before)), ...names[i].slice(before, names[i].length - after), ...(after > 1 ? ["…"] : names[i].slice(names[i].length - after))];
    const head = depth ? most - 1 : Math.ceil((most - 1) / 2);
    const tail = most - 1 - head;
    made[i] = (core.length <= most ? core : [...core.slice(0, head), "…", ...(tail ? core.slice(-tail) : [])]).join("");
  }
  /** @type {Map<string, number[]>} */ const same = new Map();
  for (const i of some) same.set(made[i], [...(same.get(made[i]) ?? []), i]);
  if (depth < 6) for (const group of same.values()) if (group.length > 1) shorten(group, names, made, most, depth + 1);
}

/** @type {WeakMap<string[], Map<number, string[]>>} */ const SHORT = new WeakMap();

/** The short form of a name among others. @param {string[]} full @param {number} i @param {number} [most] */
function label(full, i, most = 40) {
  const known = SHORT.get(full) ?? new Map();
  SHORT.set(full, known);
  if (!known.has(most)) known.set(most, shortened(full, most));
  return /** @type {string} */ (known.get(most)[i]);
}

/** It as an element, isolated from the direction of the text next to it; in full as a title. @param {string[]} full @param {number} i @param {number} [most] */
function labelled(full, i, most = 40) {
  const made = element("bdi", {}, label(full, i, most));
  if (made.textContent !== full[i]) made.title = visible(full[i]);
  return made;
}

/** The short form of a system's name. @param {number} system @param {number} [most] */
const systemName = (system, most = 30) => label(report.systems, system, most);

/** A sentence, with long names of systems in their short form. @param {string} text */
function withShortNames(text) {
  let made = prose(text);
  const long = report.systems.map((/** @type {string} */ name, /** @type {number} */ s) => ({ name: prose(name), s })).filter((/** @type {{name: string}} */ { name }) => name.length > 40);
  for (const { name, s } of long.sort((/** @type {any} */ x, /** @type {any} */ y) => y.name.length - x.name.length)) made = made.replaceAll(name, systemName(s, 40));
  return made;
}
