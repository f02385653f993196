// Tags with their alternatives, as a list of words.

import { breakable, html, shown, svg } from "./dom.js";

const SHOWN = 4; // alternatives of a word

/**
 * A list with one item for each word: the word, its tag, and the probabilities of the most probable tags.
 * isMarked(word): whether the user chose its tag; choose(word, element): called when its tag is clicked.
 */
export function tagList(sentence, title, { isMarked, choose }) {
  const [best] = sentence.sequences;
  const items = sentence.words.map((word, i) => {
    const shares = Object.entries(sentence.tags[i] ?? {}).slice(0, SHOWN);
    const others = shares.map(([tag, share]) => {
      const meter = svg("svg", { viewBox: "0 0 100 1", preserveAspectRatio: "none", class: "bar", "aria-hidden": "true" }, svg("rect", { width: 100 * share, height: 1 }));
      return html("li", tag === best.tags[i] ? { class: "best" } : {}, html("span", {}, ...breakable(tag)), meter, html("span", { class: "number" }, shown(share)));
    });
    const described = `${best.tags[i]}, tag of ${word}${isMarked(i) ? ", as you said" : ""}`;
    const tag = html("button", { type: "button", class: isMarked(i) ? "tag marked" : "tag", "aria-label": described, "data-key": i, "data-span": i }, ...breakable(best.tags[i]));
    tag.addEventListener("click", () => choose(i, tag));
    return html("li", {}, html("b", {}, word), tag, html("ul", { "aria-label": "Alternatives" }, ...others));
  });
  return html("ol", { class: "tags", role: "list", "aria-label": title }, ...items);
}
