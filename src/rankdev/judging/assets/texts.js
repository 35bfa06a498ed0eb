// @ts-check
// The texts of the page, in the language it was sent in.

/** @type {Record<string, string>} */ const TEXTS = JSON.parse(byId("texts").textContent);
const LANGUAGE = document.documentElement.lang;

/** A text with its places filled. @param {string} name @param {Record<string, string|number>} [values] */
function text(name, values = {}) {
  return TEXTS[name].replace(/\{(\w+)\}/g, (_, name) => {
    const value = values[name];
    return typeof value === "number" ? value.toLocaleString(LANGUAGE) : value;
  });
}
