// @ts-check
// The texts of the page, in the language it was sent in.

/** @type {Record<string, any>} */ const TEXTS = JSON.parse(byId("texts").textContent);
const LANGUAGE = document.documentElement.lang;

/** A text with its places filled. @param {string} name @param {Record<string, string|number>} [values] */
function text(name, values = {}) {
  return filled(TEXTS[name], values);
}

/** A text that counts something, in the right grammatical number. @param {string} name @param {number} n @param {Record<string, string|number>} [values] */
function many(name, n, values = {}) {
  const forms = TEXTS[name];
  return filled(forms[new Intl.PluralRules(LANGUAGE).select(n)] ?? forms.other, { ...values, n });
}

/** @param {string} pattern @param {Record<string, string|number>} values */
function filled(pattern, values) {
  return pattern.replace(/\{(\w+)\}/g, (_, name) => {
    const value = values[name];
    return typeof value === "number" ? value.toLocaleString(LANGUAGE) : value;
  });
}
