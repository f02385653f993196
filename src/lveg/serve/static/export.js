// Files from an analysis: pictures, brackets, LaTeX, CoNLL-U and JSON.

import { html } from "./dom.js";
import { PAPER, drawTree, nodesOf, readTree } from "./tree.js";

/** The formats of a tree and of tags: name, extension, and what makes the file's content. */
export const TREE_FORMATS = [
  ["SVG", "svg", svgText],
  ["PNG", "png", pngBlob],
  ["Brackets", "mrg", ({ sentence, rank }) => `${sentence.trees[rank].tree}\n`],
  ["LaTeX", "tex", latex],
  ["CoNLL-U", "conllu", ({ sentence, rank, model }) => conllu(sentence, treeTags(sentence, rank), model.column)],
  ["JSON", "json", ({ sentence }) => `${JSON.stringify(sentence, null, 2)}\n`],
];

export const TAG_FORMATS = [
  ["CoNLL-U", "conllu", ({ sentence, model }) => conllu(sentence, sentence.sequences[0].tags, model.column)],
  ["JSON", "json", ({ sentence }) => `${JSON.stringify(sentence, null, 2)}\n`],
];

/** Let the user save a file. */
export async function save([, extension, make], analysis) {
  const content = await make(analysis);
  const types = { svg: "image/svg+xml", json: "application/json" };
  const blob = content instanceof Blob ? content : new Blob([content], { type: types[extension] ?? "text/plain;charset=utf-8" });
  const address = URL.createObjectURL(blob);
  html("a", { href: address, download: `${extension === "conllu" ? "sentence" : "tree"}.${extension}` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function picture({ sentence, rank }) {
  const tree = readTree(sentence.trees[rank].tree, sentence.words);
  return drawTree(tree, sentence, { colours: PAPER, title: sentence.words.join(" ") });
}

function svgText(analysis) {
  return `${new XMLSerializer().serializeToString(picture(analysis))}\n`;
}

async function pngBlob(analysis) {
  const drawn = picture(analysis);
  const [width, height] = ["width", "height"].map((name) => Number(drawn.getAttribute(name)));
  const scale = Math.min(2, 16_000 / Math.max(width, height)); // canvases have a largest size
  const address = URL.createObjectURL(new Blob([svgText(analysis)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = html("canvas", { width: Math.ceil(width * scale), height: Math.ceil(height * scale) });
    const context = canvas.getContext("2d");
    context.fillStyle = "#fff";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done) => canvas.toBlob(done, "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}

const SPECIAL = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}" };
const escaped = (text) => `{${text.replace(/[\\~^#$%&_{}]/g, (mark) => SPECIAL[mark] ?? `\\${mark}`)}}`;

/** A document with the tree for the package `forest`. */
function latex({ sentence, rank }) {
  const lines = (node, indent) =>
    node.word !== undefined
      ? [`${indent}[${escaped(node.label)} [${escaped(node.word)}]]`]
      : [`${indent}[${escaped(node.label)}`, ...node.children.flatMap((child) => lines(child, `${indent}  `)), `${indent}]`];
  const tree = readTree(sentence.trees[rank].tree, sentence.words);
  return ["\\documentclass{standalone}", "\\usepackage{forest}", "\\begin{document}", "\\begin{forest}", ...lines(tree, ""), "\\end{forest}", "\\end{document}", ""].join("\n");
}

function treeTags(sentence, rank) {
  return nodesOf(readTree(sentence.trees[rank].tree, sentence.words)).filter((node) => node.word !== undefined).map((node) => node.label);
}

const PLACES = { upos: 3, xpos: 4, feats: 5 };

/** CoNLL-U: of raw text with its own text and tokens, otherwise with a space after each word. */
function conllu({ words, text, tokens }, tags, column) {
  const field = (value) => value.replace(/[\t\r\n]/g, "_");
  const row = (number, form, misc = "_") => [number, field(form), "_", "_", "_", "_", "_", "_", "_", misc];
  const pieces = tokens ?? words.map((word, i) => ({ form: word, start: i, end: i + 1, space_after: true }));
  const rows = pieces.flatMap(({ form, start, end, space_after: spaceAfter }) => {
    const misc = spaceAfter || end === words.length ? "_" : "SpaceAfter=No";
    const isWord = end - start === 1;
    const inner = words.slice(start, end).map((word, i) => {
      const made = row(String(start + i + 1), isWord ? form : word, isWord ? misc : "_");
      const values = field(tags[start + i]).split(" "); // one for each column, as in `upos+feats`
      column.split("+").forEach((name, place) => (made[PLACES[name]] = values[place] ?? "_"));
      return made;
    });
    return isWord ? inner : [row(`${start + 1}-${end}`, form, misc), ...inner];
  });
  return `# text = ${field(text ?? words.join(" "))}\n${rows.map((one) => one.join("\t")).join("\n")}\n\n`;
}
