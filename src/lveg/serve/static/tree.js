// Trees: read from brackets, laid out, and drawn as SVG.

import { rove, shown, svg } from "./dom.js";

const FONT = "system-ui, sans-serif";
const SIZE = 15;
const ROW = 52; // height of a row of phrases
const BOX = 38; // height of a phrase's box
const GAP = 14; // between words
const PAD = 7; // left and right of a label

/** Colours of the page, from its style sheet. */
export const PAGE = { ink: "var(--ink)", line: "var(--line)", shade: "var(--shade)", mark: "var(--mark)" };

/** Colours for files. */
export const PAPER = { ink: "#1b1f27", line: "#9aa1ae", shade: "#3465c4", mark: "#b3541e" };

let context = null;

/** The width of a text in pixels. */
export function width(text, size) {
  context ??= document.createElement("canvas").getContext("2d");
  context.font = `${size}px ${FONT}`;
  return context.measureText(text).width;
}

/** The tree in brackets as nodes {label, start, end, children, parent, word}; words are taken from the sentence. */
export function readTree(brackets, words) {
  const root = { label: null, children: [], parent: null, start: 0, end: 0 };
  let node = root;
  let position = 0;
  for (const [token] of brackets.matchAll(/[()]|[^() ]+/g)) {
    if (token === "(") {
      const child = { label: null, children: [], parent: node, start: position, end: position };
      node.children.push(child);
      node = child;
    } else if (token === ")") {
      node.end = position;
      node = node.parent;
    } else if (node.label === null) {
      node.label = token;
    } else {
      node.word = words[position++];
    }
  }
  const [top] = root.children;
  top.parent = null;
  return top;
}

/** All nodes, parents first. */
export function nodesOf(tree) {
  return [tree, ...tree.children.flatMap(nodesOf)];
}

/** A key for the constituent or tag of a node. */
export const keyOf = (node) => `${node.label} ${node.start} ${node.end}${node.word === undefined ? "" : " tag"}`;

/** The probability of a node: of a constituent, or of a tag; null for the outer bracket. */
export function probabilityOf(node, sentence) {
  if (node.word !== undefined) return sentence.tags[node.start]?.[node.label] ?? null;
  if (node.parent === null || sentence.constituents.length === 0) return null;
  const same = (one) => one.label === node.label && one.start === node.start && one.end === node.end;
  return sentence.constituents.find(same)?.probability ?? 0;
}

/** Gives every node x, y and a width; returns the size of the drawing. Words stand in one row, tags above them. */
function lay(tree) {
  const nodes = nodesOf(tree);
  for (const node of [...nodes].reverse()) {
    node.height = node.children.length ? 1 + Math.max(...node.children.map((child) => child.height)) : 0;
    node.width = Math.max(width(node.label, SIZE), width(">.99", 11)) + 2 * PAD;
  }
  const leaves = nodes.filter((node) => node.word !== undefined);
  // A phrase that is wider than its words moves them apart.
  const room = leaves.map((leaf) => Math.max(width(leaf.word, SIZE), leaf.width) + GAP);
  for (const node of nodes) {
    if (node.word !== undefined) continue;
    const have = room.slice(node.start, node.end).reduce((sum, one) => sum + one, 0);
    const lacks = node.width + GAP - have;
    if (lacks > 0) for (let i = node.start; i < node.end; i++) room[i] += lacks / (node.end - node.start);
  }
  let x = 0;
  leaves.forEach((leaf, i) => {
    leaf.x = x + room[i] / 2;
    x += room[i];
  });
  for (const node of [...nodes].reverse()) {
    if (node.children.length) node.x = (node.children[0].x + node.children.at(-1).x) / 2;
    node.y = (tree.height - node.height) * ROW + BOX / 2 + 3;
  }
  return { width: Math.ceil(x), height: tree.height * ROW + BOX + 40 };
}

/**
 * The drawing of a tree. options: colours; title; marked(node): whether it was fixed by the user; isNew(node): whether
 * it differs from the best tree; choose(node, element), hover(node, element) for use on the page.
 */
export function drawTree(tree, sentence, options) {
  const { colours, choose, hover } = options;
  const size = lay(tree);
  const picture = svg("svg", {
    xmlns: "http://www.w3.org/2000/svg",
    viewBox: `0 0 ${size.width} ${size.height}`,
    width: size.width,
    height: size.height,
    "font-family": FONT,
    "font-size": SIZE,
    "text-anchor": "middle",
    role: choose ? "tree" : "img",
    "aria-label": options.title,
  });
  const nodes = nodesOf(tree);
  const lines = svg("g", { stroke: colours.line, "stroke-width": 1.5, fill: "none", "aria-hidden": "true" });
  picture.append(lines);
  for (const node of nodes) {
    for (const child of node.children) {
      const [top, bottom] = [node.y + (node.parent ? BOX / 2 : 9), child.y - BOX / 2];
      const bend = Math.min(node.y + ROW - BOX / 2, bottom);
      lines.append(svg("path", { d: `M${node.x} ${top}V${node.y + BOX / 2 + 4}L${child.x} ${bend}V${bottom}` }));
    }
  }
  const elements = new Map(nodes.map((node) => [node, drawNode(node, sentence, options, size)]));
  picture.append(...elements.values());
  if (choose) {
    for (const [node, element] of elements) {
      element.addEventListener("click", () => choose(node, element));
      for (const name of ["mouseenter", "focus"]) element.addEventListener(name, () => hover(node, element));
      for (const name of ["mouseleave", "blur"]) element.addEventListener(name, () => hover(null));
    }
    const owner = new Map([...elements].map(([node, element]) => [element, node]));
    rove(picture, [...elements.values()], (element, key) => elements.get(neighbour(owner.get(element), key)));
  }
  return picture;
}

function drawNode(node, sentence, { colours, marked, isNew, choose }, size) {
  const probability = probabilityOf(node, sentence);
  const colour = isNew?.(node) ? colours.mark : colours.ink;
  const box = svg("rect", {
    x: node.x - node.width / 2,
    y: node.y - BOX / 2,
    width: node.width,
    height: BOX,
    rx: 7,
    fill: colours.shade,
    "fill-opacity": probability === null ? 0 : 0.04 + 0.3 * probability,
    stroke: marked?.(node) ? colours.mark : "none",
    "stroke-width": 2.5,
  });
  const label = svg("text", { x: node.x, y: node.y + (probability === null ? 5 : -1), fill: colour, "font-weight": 600 }, node.label);
  const number =
    probability === null ? null : svg("text", { x: node.x, y: node.y + 14, fill: colours.ink, "font-size": 11 }, shown(probability));
  const word =
    node.word === undefined
      ? null
      : svg("text", { x: node.x, y: size.height - 9, fill: colours.ink, class: "word", "data-word": node.start }, node.word);
  if (!choose) return svg("g", {}, box, label, number, word);
  const siblings = node.parent ? node.parent.children : [node];
  return svg(
    "g",
    {
      class: "node",
      role: "treeitem",
      "aria-label": described(node, sentence, probability, marked(node)),
      "aria-level": level(node),
      "aria-posinset": siblings.indexOf(node) + 1,
      "aria-setsize": siblings.length,
      "aria-selected": "false",
      "data-key": keyOf(node),
      "data-span": `${node.start} ${node.end}`,
    },
    box,
    label,
    " ", // so that the texts are words of their own
    number,
    number && " ",
    word,
  );
}

/** The name of a node. It begins with what is drawn, in the same order, so that it can be spoken as it is seen. */
function described(node, sentence, probability, isMarked) {
  const words = sentence.words.slice(node.start, node.end).join(" ");
  const drawn = [node.label, ...(probability === null ? [] : [shown(probability)])];
  const name = node.word === undefined ? `${drawn.join(" ")}, ${words}` : [...drawn, node.word].join(" ");
  return isMarked ? `${name}, as you said` : name;
}

function level(node) {
  return node.parent === null ? 1 : 1 + level(node.parent);
}

function neighbour(node, key) {
  if (key === "ArrowUp") return node.parent;
  if (key === "ArrowDown") return node.children[0];
  const siblings = node.parent ? node.parent.children : [node];
  return siblings[siblings.indexOf(node) + (key === "ArrowRight" ? 1 : -1)];
}
