// Tags with their alternatives, as a list of words.

import { html, shown, svg } from "./dom.js";

const SHOWN = 4; // alternatives of a word

/** A list with one item for each word: the word, its tag, and the probabilities of the most probable tags. */
export function tagList(sentence, title) {
  const [best] = sentence.sequences;
  const items = sentence.words.map((word, i) => {
    const shares = Object.entries(sentence.tags[i] ?? {}).slice(0, SHOWN);
    const others = shares.map(([tag, share]) => {
      const meter = svg("svg", { viewBox: "0 0 100 1", preserveAspectRatio: "none", class: "bar", "aria-hidden": "true" }, svg("rect", { width: 100 * share, height: 1 }));
      return html("li", tag === best.tags[i] ? { class: "best" } : {}, html("span", {}, tag), meter, html("span", { class: "number" }, shown(share)));
    });
    return html("li", {}, html("b", {}, word), html("strong", {}, best.tags[i]), html("ul", { "aria-label": "Alternatives" }, ...others));
  });
  return html("ol", { class: "tags", "aria-label": title }, ...items);
}
