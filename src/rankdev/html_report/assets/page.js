// @ts-check
// Shared by all pages: making elements, writing numbers, and showing text that comes from outside.

const byId = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

/** @param {string} tag @param {Record<string, string>} [attributes] @param {...(Node|string)} children */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Part of a figure. @param {string} tag @param {Record<string, string | number>} [attributes] @param {...(Node|string)} children */
function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/** A number with its decimals, never −0. @param {number} value @param {number} [digits] */
function written(value, digits = 4) {
  return value.toFixed(digits).replace(/^-(0\.0+)$/, "$1");
}

/** An id or a name with escapes for what is invisible or changes the direction of the text next to it. @param {string} text */
function visible(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu, escaped);
}

/** A text in its own script and direction; marks that change the direction of the text next to it as escapes. @param {string} text */
function prose(text) {
  return text.replace(/(?!\s)[\p{Cc}\p{Cs}]/gu, "\ufffd").replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, escaped);
}

/** @param {string} character */
function escaped(character) {
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
}

/** A name, cut where it is long. @param {string} text @param {number} [most] */
function brief(text, most = 48) {
  const letters = [...visible(text.slice(0, 4 * most + 200))];
  if (letters.length <= most && text.length <= 4 * most + 200) return letters.join("");
  return `${letters.slice(0, most - 1).join("")}…`;
}

/** A name isolated from the direction of the text next to it; in full as a title where it is cut. @param {string} text @param {number} [most] */
function named(text, most = 48) {
  const made = element("bdi", {}, brief(text, most));
  if (made.textContent !== text) made.title = visible(text);
  return made;
}

/** A measure's text, which may break after a bracket or a comma. @param {string} text @param {RegExp} [after] */
const broken = (text, after = /(?<=[(,)_])(?=\S)/) => text.split(after).flatMap((part, i) => (i ? [element("wbr"), part] : [part]));

/** A bar: what was gained, and what of the rest was lost. @param {number} earned @param {number} whole @param {string} label */
function bar(earned, whole, label) {
  const made = element("span", { class: "bar", role: "img", "aria-label": label });
  const full = element("i");
  const rest = element("b");
  full.style.width = `${100 * earned}%`;
  rest.style.left = `${100 * earned}%`;
  rest.style.width = `${100 * Math.max(0, whole - earned)}%`;
  made.append(full, rest);
  return made;
}

/** A number of things as text. @param {number} number @param {string} noun */
function counted(number, noun) {
  const many = noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${number.toLocaleString("en")} ${number === 1 ? noun : many}`;
}

const COMMON = new Set("an and about are as at be by can could did do does for from had has have how if in into is it its no not of on or so that the their them there they this to was we were what when where which who why will with would you your".split(" "));

/** What finds the words of a query in a text, with other endings too; null where it has none to look for. @param {string} text */
function sought(text) {
  const all = text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? [];
  const specific = all.filter((word) => !COMMON.has(word));
  const words = (specific.length ? specific : all).map((word) => word.replace(/(?<=\p{L}{3})s$/u, "")).map((word) => (word.length > 2 ? `${word}\\p{L}{0,2}` : word));
  return words.length ? new RegExp(`(?<![\\p{L}\\p{N}])(?:${words.join("|")})(?![\\p{L}\\p{N}])`, "giu") : null;
}

/** A text in parts, those that match as marks. @param {string} text @param {RegExp | null} words */
function marked(text, words) {
  /** @type {(Node|string)[]} */ const parts = [];
  let at = 0;
  for (const found of words ? text.matchAll(words) : []) {
    parts.push(text.slice(at, found.index), element("mark", {}, found[0]));
    at = found.index + found[0].length;
  }
  return [...parts, text.slice(at)];
}

/** Save a file. @param {string} name @param {Blob} content */
function save(name, content) {
  const url = URL.createObjectURL(content);
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
