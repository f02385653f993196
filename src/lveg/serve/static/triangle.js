// The triangle of constituent probabilities: one cell for each span, words below.

import { rove, shown, svg } from "./dom.js";
import { PAGE, width } from "./tree.js";

const STEP = 30; // between words
const HALF = STEP / 2;
const TURN = 50; // degrees by which words are turned
const FONT = 12.5;
const LONGEST = 11; // characters of a word that are shown

/** The constituents of each span, most probable first, by `start end`. */
export function bySpan(sentence) {
  const spans = new Map();
  for (const one of sentence.constituents) {
    const key = `${one.start} ${one.end}`;
    if (!spans.has(key)) spans.set(key, []);
    spans.get(key).push(one);
  }
  for (const list of spans.values()) list.sort((a, b) => b.probability - a.probability);
  return spans;
}

/**
 * The drawing. inTree(start, end): whether the shown tree has a constituent there; choose(span, element) and
 * hover(span, element) are told about a cell, a list of constituents over one span.
 */
export function drawTriangle(sentence, { title, inTree, choose, hover }) {
  const count = sentence.words.length;
  const names = sentence.words.map((word) => (word.length > LONGEST ? `${word.slice(0, LONGEST - 1)}…` : word));
  const longest = Math.max(...names.map((name) => width(name, FONT)));
  const base = count * HALF + HALF + 2;
  const left = longest * Math.cos((TURN * Math.PI) / 180); // as much as words need on the right
  const size = { width: count * STEP + 2 * left, height: base + 16 + longest * Math.sin((TURN * Math.PI) / 180) };
  const picture = svg("svg", {
    viewBox: `0 0 ${size.width} ${size.height}`,
    width: size.width,
    height: size.height,
    role: "group",
    "aria-label": title,
    "font-size": FONT,
  });
  const edge = `M${left} ${base - HALF}L${left + count * HALF} ${base - HALF - count * HALF}L${left + count * STEP} ${base - HALF}L${left + count * STEP - HALF} ${base}`;
  const teeth = sentence.words.map((_, i) => `L${left + (count - i) * STEP - HALF} ${base}L${left + (count - i - 1) * STEP} ${base - HALF}`);
  picture.append(svg("path", { d: edge + teeth.join("") + "Z", fill: "var(--field)", stroke: "var(--line)", "aria-hidden": "true" }));
  names.forEach((name, i) => {
    const [x, y] = [left + i * STEP + HALF, base + 8];
    const turned = { transform: `rotate(${TURN} ${x} ${y})`, x, y: y + 4, fill: PAGE.ink, class: "word", "data-word": i, "aria-hidden": "true" };
    picture.append(svg("text", turned, name));
  });
  const cells = [...bySpan(sentence).values()].sort((a, b) => a[0].end - a[0].start - (b[0].end - b[0].start) || a[0].start - b[0].start);
  const elements = cells.map((span) => drawCell(span, sentence, left, base, inTree));
  const isInTree = ([{ start, end }]) => inTree(start, end);
  picture.append(...elements.filter((_, i) => !isInTree(cells[i])), ...elements.filter((_, i) => isInTree(cells[i]))); // whole borders
  elements.forEach((element, i) => {
    element.addEventListener("click", () => choose(cells[i], element));
    for (const name of ["mouseenter", "focus"]) element.addEventListener(name, () => hover(cells[i], element));
    for (const name of ["mouseleave", "blur"]) element.addEventListener(name, () => hover(null));
  });
  if (elements.length) {
    rove(picture, elements, (element, key) => {
      const step = key === "ArrowRight" || key === "ArrowUp" ? 1 : -1;
      return elements[elements.indexOf(element) + step];
    });
  }
  return picture;
}

function drawCell(span, sentence, left, base, inTree) {
  const { start, end, probability } = span[0];
  const x = left + ((start + end) / 2) * STEP;
  const y = base - HALF - (end - start - 1) * HALF;
  const words = sentence.words.slice(start, end).join(" ");
  const labels = span.slice(0, 3).map((one) => `${one.label} ${shown(one.probability)}`);
  const cell = svg("path", {
    d: `M${x - HALF} ${y}L${x} ${y - HALF}L${x + HALF} ${y}L${x} ${y + HALF}Z`,
    fill: PAGE.shade,
    "fill-opacity": 0.06 + 0.56 * probability,
    stroke: inTree(start, end) ? PAGE.ink : "var(--field)",
    "stroke-width": inTree(start, end) ? 1.8 : 1,
  });
  const name = span[0].label;
  const label =
    name.length > 3 ? null : svg("text", { x, y: y + 3.5, "text-anchor": "middle", "font-size": name.length > 2 ? 8 : 10, fill: PAGE.ink }, name);
  const key = `${start} ${end}`;
  const attributes = { class: "cell", role: "button", "aria-label": `${words}: ${labels.join(", ")}`, "data-key": key, "data-span": key };
  return svg("g", attributes, cell, label);
}
