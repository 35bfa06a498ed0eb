// @ts-check
// Every table as a CSV or LaTeX file, with names in full.

/** The text of a cell; parts in small follow after a space. @param {Element} made @returns {string} */
function cellText(made) {
  if (made.matches("bdi") && made.getAttribute("title")) return made.getAttribute("title") ?? "";
  if (made.matches(".paper, .stack, .bar, svg, .span-cell")) return "";
  const parts = Array.from(made.childNodes, (node) => (node instanceof Element ? (node.tagName === "SMALL" ? " " : "") + cellText(node) : node.textContent ?? ""));
  return parts.join("").replace(/\s+/g, " ").trim();
}

/** @param {HTMLTableElement} table @returns {{text: string, strong: boolean, left: boolean}[][]} the rows, headings first, without columns that are drawn */
function contents(table) {
  const rows = Array.from(table.rows, (row) => Array.from(row.cells, (made) => ({ text: cellText(made), strong: made.matches(".best, .better, .worse"), left: made.matches(".text, .prose") })));
  const width = Math.max(...rows.map((row) => row.length));
  const kept = Array.from({ length: width }, (_, i) => i).filter((i) => rows.slice(1).some((row) => row[i]?.text));
  return rows.map((row) => kept.map((i) => row[i] ?? { text: "", strong: false, left: false }));
}

/** @param {HTMLTableElement} table */
function asCsv(table) {
  const quoted = (/** @type {string} */ text) => {
    const safe = /^[=@\t]|^[+-](?![\d.∞–]+$)/.test(text) ? `'${text}` : text; // a spreadsheet would take it for a formula
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return contents(table).map((row) => row.map(({ text }) => quoted(text)).join(",")).join("\r\n") + "\r\n";
}

/** @type {Record<string, string>} */
const LATEX = { "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", "&": "\\&", "%": "\\%", $: "\\$", "#": "\\#", _: "\\_", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "−": "$-$", "≤": "$\\le$", "≈": "$\\approx$", "±": "$\\pm$", "∞": "$\\infty$", τ: "$\\tau$", α: "$\\alpha$", "<": "$<$", ">": "$>$" };
const inLatex = (/** @type {string} */ text) => text.replace(/[\\{}&%$#_~^−≤≈±∞τα<>]/g, (character) => LATEX[character]);

/** A table for booktabs. @param {HTMLTableElement} table */
function asLatex(table) {
  const [heads, ...rows] = contents(table);
  const line = (/** @type {typeof heads} */ row) => `${row.map(({ text, strong }) => (strong ? `\\textbf{${inLatex(text)}}` : inLatex(text))).join(" & ")} \\\\`;
  const columns = heads.map(({ left }, i) => (left || i === 0 ? "l" : "r")).join("");
  const caption = table.caption?.textContent ? `\\caption{${inLatex(table.caption.textContent)}}\n` : "";
  return `% \\usepackage{booktabs}\n\\begin{table}\n\\centering\n${caption}\\begin{tabular}{${columns}}\n\\toprule\n${line(heads)}\n\\midrule\n${rows.map(line).join("\n")}\n\\bottomrule\n\\end{tabular}\n\\end{table}\n`;
}

/** Buttons that save a table. @param {() => HTMLTableElement} table @param {string} name of the file */
function tableTools(table, name) {
  const tool = (/** @type {string} */ text, /** @type {() => void} */ act) => {
    const made = element("button", { type: "button", class: "tool", "aria-label": `Save the table ${name} as ${text}` }, text);
    made.addEventListener("click", act);
    return made;
  };
  return element("p", { class: "tools screen" }, tool("CSV", () => save(`${name}.csv`, new Blob([`\ufeff${asCsv(table())}`], { type: "text/csv" }))), " ", tool("LaTeX", () => save(`${name}.tex`, new Blob([asLatex(table())], { type: "application/x-tex" }))));
}

/** Put the buttons after each table of the page; a table of which one page is shown is saved whole. */
function addTableTools() {
  for (const { id, parentElement } of document.querySelectorAll("main table[id]"))
    parentElement?.after(tableTools(() => (id === "rows" ? wholeRows() : byId(id)), id));
}
