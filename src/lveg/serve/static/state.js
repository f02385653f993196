// What the page shows, kept in the fragment of its address so that a link brings it back.

/** The state of an empty page. */
export const empty = () => ({ text: "", raw: false, models: null, sentence: 0, rank: 0, given: {} });

/** What the user said about a sentence: spans [start, end, label or null], not spans [start, end], tags [word, tag]. */
export const nothing = () => ({ spans: [], notSpans: [], tags: [] });

export const isNothing = (given) => !given || (!given.spans.length && !given.notSpans.length && !given.tags.length);

/** The state as a fragment. */
export function toFragment(state) {
  const fields = new URLSearchParams({ text: state.text });
  if (state.raw) fields.set("raw", "1");
  if (state.models) fields.set("models", JSON.stringify(state.models));
  if (state.sentence) fields.set("sentence", state.sentence + 1);
  if (state.rank) fields.set("tree", state.rank + 1);
  const given = Object.entries(state.given).filter(([, one]) => !isNothing(one));
  if (given.length) fields.set("given", JSON.stringify(given.map(([i, one]) => [Number(i), one.spans, one.notSpans, one.tags])));
  return fields.toString();
}

/** The state of a fragment; parts that make no sense are left out. */
export function fromFragment(fragment) {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  const state = empty();
  state.text = fields.get("text") ?? "";
  state.raw = fields.get("raw") === "1";
  const models = json(fields.get("models"));
  if (Array.isArray(models) && models.every((name) => typeof name === "string")) state.models = models;
  state.sentence = number(fields.get("sentence"));
  state.rank = number(fields.get("tree"));
  const given = json(fields.get("given"));
  for (const one of Array.isArray(given) ? given : []) {
    if (!Array.isArray(one)) continue;
    const [index, spans, notSpans, tags] = one;
    if (!isCount(index)) continue;
    state.given[index] = {
      spans: list(spans).filter(isSpan).map(([start, end, label]) => [start, end, typeof label === "string" ? label : null]),
      notSpans: list(notSpans).filter(isSpan).map(([start, end]) => [start, end]),
      tags: pairs(tags).filter((one) => Array.isArray(one) && isCount(one[0]) && typeof one[1] === "string").map(([word, tag]) => [word, tag]),
    };
  }
  return state;
}

function json(text) {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return null;
  }
}

const list = (value) => (Array.isArray(value) ? value : []);
const pairs = (tags) => (Array.isArray(tags) ? tags : Object.entries(tags ?? {}).map(([word, tag]) => [Number(word), tag])); // links of earlier versions have an object
const isCount = (value) => Number.isInteger(value) && value >= 0;
const isSpan = (value) => Array.isArray(value) && isCount(value[0]) && isCount(value[1]) && value[0] < value[1];
const number = (text) => Math.max(0, (Number.parseInt(text ?? "1", 10) || 1) - 1);
