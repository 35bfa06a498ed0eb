// @ts-check
// RDQ and other measures for one query; a test compares them with src/rankdev/measures.

/** @typedef {Map<string, number>} Reference item → rank, ranks from 1 without gaps */
/** @typedef {{penalty: "m1"|"m2", alpha: number, lam: number, weights: number[], tail: number, k: number}} Settings */
/** @typedef {{position: number, item: string|null, rank: number|null, ideal: number, weight: number, credit: number,
 *             earned: number, lost: number, why: string}} Row */

const WEIGHTS = {
  vertical: { head: [1, 0.9, 0.8, 0.8, 0.7, 0.6, 0.5, 0.5, 0.4, 0.4, 0.4, 0.3, 0.3, 0.2, 0.2, 0.2], tail: 0.1 },
  stepped: { head: [1, 0.8, 0.8, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5], tail: 0.1 },
  carousel: { head: [1, 1, 1], tail: 0.1 },
  uniform: { head: [1], tail: 1 },
};

/** The first occurrence of each item, with its position from 0. @param {string[]} ranking */
function firstPositions(ranking) {
  const first = new Map();
  ranking.forEach((item, i) => {
    if (!first.has(item)) first.set(item, i);
  });
  return first;
}

/** @param {Reference} reference @param {number} depth */
function idealRanks(reference, depth) {
  const ranks = [...reference.values()].sort((a, b) => a - b);
  const tiers = ranks[ranks.length - 1];
  return Array.from({ length: depth }, (_, i) => (i < ranks.length ? ranks[i] : tiers + i + 1 - ranks.length));
}

/** @param {number} i @param {Settings} settings */
function weightAt(i, settings) {
  return i < settings.weights.length ? settings.weights[i] : settings.tail;
}

/** @param {number} ideal @param {number} rank @param {number} size @param {Settings} settings */
function creditOf(ideal, rank, size, settings) {
  if (settings.penalty === "m1") return Math.min(1, ideal / rank);
  const tolerance = Math.sqrt(size) * settings.alpha * (1 + settings.lam * (rank - 1));
  return Math.exp(-Math.abs(ideal - rank) / tolerance);
}

/**
 * RDQ, and the gain and loss of each position.
 * @param {Reference} reference @param {string[]} ranking @param {Settings} settings
 * @param {Set<string>} [nonrelevant] items judged nonrelevant, where that is known
 * @returns {{score: number, rows: Row[]}}
 */
function rdq(reference, ranking, settings, nonrelevant) {
  const returned = ranking.slice(0, settings.k);
  const counted = Math.min(settings.k, reference.size);
  const depth = Math.max(counted, returned.length);
  const ideal = idealRanks(reference, depth);
  let best = 0;
  for (let i = 0; i < counted; i++) best += weightAt(i, settings);
  const first = firstPositions(returned);
  let score = 0;
  const rows = ideal.map((belongs, i) => {
    const item = i < returned.length ? returned[i] : null;
    const rank = item === null ? null : reference.get(item) ?? null;
    const fresh = item !== null && first.get(item) === i;
    const weight = weightAt(i, settings);
    const credit = rank !== null && fresh ? creditOf(belongs, rank, reference.size, settings) : 0;
    const earned = (weight * credit) / best;
    const lost = (i < counted ? weight / best : 0) - earned;
    score += weight * credit;
    return { position: i + 1, item, rank, ideal: belongs, weight, credit, earned, lost, why: why(item, rank, fresh, lost, nonrelevant) };
  });
  return { score: Math.min(1, score / best), rows };
}

/** @param {string|null} item @param {number|null} rank @param {boolean} fresh @param {number} lost @param {Set<string>} [nonrelevant] */
function why(item, rank, fresh, lost, nonrelevant) {
  if (lost === 0) return "";
  if (item === null) return "missing";
  if (rank === null) return !nonrelevant ? "not in the reference" : nonrelevant.has(item) ? "nonrelevant" : "unjudged";
  return fresh ? "displaced" : "repeated";
}

/** @param {Reference} reference @param {string[]} ranking @param {number} k */
function hitsOf(reference, ranking, k) {
  const first = firstPositions(ranking);
  return ranking.slice(0, k).map((item, i) => reference.has(item) && first.get(item) === i);
}

/** nDCG with gains made from ranks. @param {Reference} reference @param {string[]} ranking @param {number} k
 *  @param {"binary"|"inverse"|"linear"} gains */
function ndcg(reference, ranking, k, gains) {
  const tiers = Math.max(...reference.values());
  const grade = (/** @type {number} */ rank) => (gains === "inverse" ? 1 / rank : tiers - rank + 1);
  const gain = (/** @type {number} */ rank) => (gains === "binary" ? 1 : 2 ** grade(rank) - 1);
  const hits = hitsOf(reference, ranking, k);
  const found = ranking.slice(0, k).map((item, i) => (hits[i] ? gain(/** @type {number} */ (reference.get(item))) : 0));
  const best = [...reference.values()].sort((a, b) => a - b).slice(0, k).map(gain);
  const dcg = (/** @type {number[]} */ values) => values.reduce((sum, value, i) => sum + value / Math.log2(i + 2), 0);
  return dcg(found) / dcg(best);
}

/** @param {Reference} reference @param {string[]} ranking @param {number} k */
function averagePrecision(reference, ranking, k) {
  let seen = 0;
  let sum = 0;
  hitsOf(reference, ranking, k).forEach((hit, i) => {
    if (hit) sum += ++seen / (i + 1);
  });
  return sum / reference.size;
}

/** @param {Reference} reference @param {string[]} ranking @param {number} k @param {number} p */
function rbp(reference, ranking, k, p) {
  return (1 - p) * hitsOf(reference, ranking, k).reduce((sum, hit, i) => sum + (hit ? p ** i : 0), 0);
}

/** Compatibility at depth k. @param {Reference} reference @param {string[]} ranking @param {number} k @param {number} p */
function compat(reference, ranking, k, p) {
  const first = firstPositions(ranking.slice(0, k));
  const place = (/** @type {string} */ item) => first.get(item) ?? Infinity;
  const ideal = [...reference.keys()].sort(
    (a, b) => /** @type {number} */ (reference.get(a)) - /** @type {number} */ (reference.get(b)) || byPlace(place(a), place(b)),
  );
  const overlap = (/** @type {string[]} */ one, /** @type {string[]} */ other) => {
    let sum = 0;
    for (let d = 1; d <= k; d++) {
      const upper = new Set(one.slice(0, d));
      sum += (p ** (d - 1) * [...new Set(other.slice(0, d))].filter((item) => upper.has(item)).length) / d;
    }
    return sum;
  };
  return Math.min(1, overlap(ranking.slice(0, k), ideal) / overlap(ideal, ideal));
}

/** Infinity − Infinity is not a number, and no order. @param {number} a @param {number} b */
function byPlace(a, b) {
  return a === b ? 0 : a < b ? -1 : 1;
}
