// The page: asks the server, keeps the state, and shows one panel for each model.

import { byId, html, shown } from "./dom.js";
import { TAG_FORMATS, TREE_FORMATS, save } from "./export.js";
import { hideTip, openMenu, setUpMenu, showTip } from "./menu.js";
import { empty, fromFragment, isNothing, nothing, toFragment } from "./state.js";
import { tagList } from "./tags.js";
import { PAGE, drawTree, keyOf, nodesOf, readTree } from "./tree.js";
import { bySpan, drawTriangle } from "./triangle.js";

const KBEST = 10;
const LEAST = 0.75; // scale to which pictures shrink where there is too little room
const TOUCH = matchMedia("(pointer: coarse)"); // small cells are hard to hit with a finger
const FALLBACKS = {
  wide: "less was pruned than usual",
  unpruned: "nothing was pruned",
  glue: "the grammar has no such tree, so fragments were joined",
  flat: "there is no such tree, or the sentence is too long",
};
const PAUSE = 200; // milliseconds after the last key until the text is analysed

let server = { models: [], max_words: 0 };
let state = empty();
let results = new Map(); // name of a model -> {sentences, joined} or {error}
let round = 0; // number of the latest request; answers to earlier ones are ignored
let waiting = null;

const chosen = () => server.models.filter((model) => !state.models || state.models.includes(model.name));
const given = () => state.given[state.sentence] ?? nothing();

// Requests

async function ask(model, request) {
  const response = await fetch(model.task === "parser" ? "/api/parse" : "/api/tag", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ model: model.name, ...request }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error.message);
  return answer;
}

const wish = (model) => (model.task === "parser" ? { kbest: KBEST } : {});

/** The tags that the user gave and that the model knows, by position of the word. */
const tagsFor = (model, one) => Object.fromEntries(one.tags.filter(([, tag]) => model.tags.includes(tag)));

function constraints(model, one) {
  if (model.task !== "parser") return { tags: tagsFor(model, one) };
  return {
    spans: one.spans.map(([start, end, label]) => ({ start, end, label })),
    not_spans: one.notSpans.map(([start, end]) => ({ start, end })),
    tags: tagsFor(model, one),
  };
}

const askAll = (model) => ask(model, { text: state.text, raw: state.raw, ...wish(model) });

/** The result, with the sentence of a number analysed under what the user said about it; if that fails, also the error. */
async function reparsed(model, { sentences, joined }, index) {
  if (!sentences[index]) return { sentences, joined };
  const one = state.given[index];
  const request = { words: sentences[index].words, ...wish(model) };
  if (!isNothing(one)) request.constraints = constraints(model, one);
  try {
    const [sentence] = (await ask(model, request)).sentences;
    const { text, tokens } = sentences[index]; // of raw text: the words alone do not tell
    return { sentences: sentences.with(index, { ...sentence, text, tokens }), joined };
  } catch (error) {
    return { sentences, joined, error: messageOf(error) };
  }
}

const messageOf = (error) => (error instanceof TypeError ? "the server does not answer: is it still running?" : error.message);

/** Run the work for each chosen model, and show what comes of it unless something newer was begun. */
async function update(work) {
  const mine = ++round;
  const begun = performance.now();
  document.body.setAttribute("aria-busy", "true");
  const found = await Promise.all(
    chosen().map(async (model) => {
      try {
        return [model.name, await work(model)];
      } catch (error) {
        return [model.name, { error: messageOf(error) }];
      }
    }),
  );
  if (mine !== round) return;
  document.body.removeAttribute("aria-busy");
  results = new Map(found);
  show();
  performance.measure("lveg-analysis", { start: begun });
  const count = sentenceCount();
  const time = Math.round(performance.now() - begun);
  byId("status").textContent = count ? `${count} ${count === 1 ? "sentence" : "sentences"}, ${time} ms` : "";
}

function analyse() {
  clearTimeout(waiting);
  remember();
  if (!state.text.trim()) {
    round++;
    results = new Map();
    byId("status").textContent = "";
    show();
    return Promise.resolve();
  }
  return update(async (model) => {
    let result = await askAll(model);
    for (const index of Object.keys(state.given)) {
      if (!result.error) result = await reparsed(model, result, Number(index));
    }
    return result;
  });
}

/** The user said something about the sentence: only it is analysed again. */
function say(change) {
  const one = given();
  change(one);
  state.given[state.sentence] = one;
  state.rank = 0;
  remember();
  const index = state.sentence;
  return update(async (model) => {
    const known = results.get(model.name);
    return reparsed(model, known?.sentences ? known : await askAll(model), index);
  });
}

const same = (start, end) => (span) => span[0] === start && span[1] === end;

function sayNothing(one, start, end) {
  one.spans = one.spans.filter((span) => !same(start, end)(span));
  one.notSpans = one.notSpans.filter((span) => !same(start, end)(span));
}

const sayIs = (start, end, label) => say((one) => (sayNothing(one, start, end), one.spans.push([start, end, label])));
const sayNot = (start, end) => say((one) => (sayNothing(one, start, end), one.notSpans.push([start, end])));
/** Other models may have other tags: what was said in these stays. */
function sayNoTag(one, model, word) {
  one.tags = one.tags.filter(([other, tag]) => other !== word || !model.tags.includes(tag));
}

const sayTag = (model, word, tag) => say((one) => (sayNoTag(one, model, word), one.tags.push([word, tag])));

// Menus

function spanMenu(model, sentence, start, end, label, element) {
  const one = given();
  const is = one.spans.find(same(start, end));
  const isNot = one.notSpans.some(same(start, end));
  const listed = (bySpan(sentence).get(`${start} ${end}`) ?? []).slice(0, 5);
  if (label && !listed.some((other) => other.label === label)) listed.push({ label });
  const choices = listed.map((other) => ({
    text: other.label,
    probability: other.probability,
    isOn: is?.[2] === other.label,
    act: () => sayIs(start, end, other.label),
  }));
  const others = [{ text: "a constituent", isOn: is !== undefined && is[2] === null, act: () => sayIs(start, end, null) }];
  others.push({ text: "not a constituent", isOn: isNot, act: () => sayNot(start, end) });
  const groups = [{ title: "This is", choices: [...choices, ...others] }];
  if (is || isNot) groups.push({ choices: [{ text: "Forget what I said", act: () => say((two) => sayNothing(two, start, end)) }] });
  const select = { label: "another label…", options: model.labels, act: (name) => name && sayIs(start, end, name) };
  openMenu(element, sentence.words.slice(start, end).join(" "), groups, select);
}

function tagMenu(model, sentence, word, tag, element) {
  const fixed = tagsFor(model, given())[word];
  const shares = Object.entries(sentence.tags[word] ?? { [tag]: undefined }).slice(0, 6);
  const choices = shares.map(([name, probability]) => ({ text: name, probability, isOn: fixed === name, act: () => sayTag(model, word, name) }));
  const groups = [{ title: "The tag is", choices }];
  if (fixed) groups.push({ choices: [{ text: "Forget what I said", act: () => say((one) => sayNoTag(one, model, word)) }] });
  openMenu(element, sentence.words[word], groups, { label: "another tag…", options: model.tags, act: (name) => name && sayTag(model, word, name) });
}

// What is shown

const sentenceCount = () => Math.max(0, ...[...results.values()].map((result) => result.sentences?.length ?? 0));

function show() {
  const focused = document.activeElement?.closest?.("[data-key]");
  const place = focused && [focused.closest("section").dataset.model, focused.closest("svg, ol").getAttribute("role"), focused.dataset];
  hideTip();
  const count = sentenceCount();
  state.sentence = count ? Math.min(state.sentence, count - 1) : state.sentence;
  byId("sentences").hidden = count < 2;
  byId("which").textContent = `Sentence ${state.sentence + 1} of ${count}`;
  byId("previous").disabled = state.sentence === 0;
  byId("next").disabled = state.sentence >= count - 1;
  showGiven();
  showJoined();
  byId("panels").replaceChildren(...chosen().filter((model) => results.has(model.name)).map(panel));
  if (place) focusAgain(...place);
  document.querySelectorAll(".scroll").forEach(centre);
}

/** Focus what stands where the focus was before: the same constituent, or another one over the same words. */
function focusAgain(model, role, { key, span }) {
  const section = [...document.querySelectorAll("section[data-model]")].find((one) => one.dataset.model === model);
  const items = [...(section?.querySelectorAll(`[role="${role}"] [data-key]`) ?? [])];
  const near = items.find((item) => item.dataset.key === key) ?? items.find((item) => item.dataset.span === span);
  (near ?? items[0])?.focus({ preventScroll: true });
}

function showGiven() {
  const one = given();
  const words = [...results.values()].map((result) => result.sentences?.[state.sentence]?.words).find(Boolean);
  const chip = (text, undo) => html("button", { type: "button", class: "chip", "aria-label": `Forget: ${text}`, onclick: undo }, text, html("span", { "aria-hidden": "true" }, " ✕"));
  const text = (start, end) => `“${words.slice(start, end).join(" ")}”`;
  const chips = !words
    ? []
    : [
        ...one.spans.map(([start, end, label]) => chip(`${text(start, end)} is ${label ?? "a constituent"}`, () => say((two) => sayNothing(two, start, end)))),
        ...one.notSpans.map(([start, end]) => chip(`${text(start, end)} is not a constituent`, () => say((two) => sayNothing(two, start, end)))),
        ...one.tags.map(([i, tag]) => chip(`${text(i, i + 1)} has the tag ${tag}`, () => say((two) => (two.tags = two.tags.filter((other) => other[0] !== i || other[1] !== tag))))),
      ];
  if (chips.length > 1) chips.push(html("button", { type: "button", onclick: () => say((two) => Object.assign(two, nothing())) }, "Forget all"));
  byId("given").hidden = chips.length === 0;
  byId("given").replaceChildren(...chips);
}

/** Where a word seems to be two tokens: ask whether the text is raw. */
function showJoined() {
  const found = [...results.values()].map((result) => result.joined).find(Boolean);
  byId("joined").textContent = found
    ? `“${found.join("")}” looks like two tokens, “${found[0]}” and “${found[1]}”. If this is ordinary text, tick “Raw text”.`
    : "";
}

function panel(model) {
  const result = results.get(model.name);
  const head = html("h2", {}, model.name, html("small", {}, ` ${model.kind} ${model.task}`));
  const section = html("section", { class: "panel", "data-model": model.name, "aria-label": model.name }, head);
  const sentence = result.sentences?.[state.sentence];
  if (result.error) section.append(html("p", { class: "error", role: "alert" }, result.error));
  else if (sentence) section.append(...(model.task === "parser" ? treeView(model, sentence) : tagView(model, sentence)));
  return section;
}

function treeView(model, sentence) {
  const rank = Math.min(state.rank, sentence.trees.length - 1);
  const tree = readTree(sentence.trees[rank].tree, sentence.words);
  const best = new Set(nodesOf(readTree(sentence.trees[0].tree, sentence.words)).map(keyOf));
  const spans = new Set(nodesOf(tree).filter((node) => node.parent && node.word === undefined).map((node) => `${node.start} ${node.end}`));
  const one = given();
  const choose = (node, element) => {
    if (node.word !== undefined) tagMenu(model, sentence, node.start, node.label, element);
    else spanMenu(model, sentence, node.start, node.end, node.parent ? node.label : null, element);
  };
  const picture = drawTree(tree, sentence, {
    colours: PAGE,
    title: `Tree of ${model.name}, with probabilities`,
    marked: (node) => (node.word !== undefined ? tagsFor(model, one)[node.start] !== undefined : node.parent !== null && one.spans.some(same(node.start, node.end))),
    isNew: (node) => !best.has(keyOf(node)),
    choose,
    hover: (node) => lightUp(node?.start, node?.end),
  });
  const triangle = drawTriangle(sentence, {
    title: "Probabilities of constituents",
    inTree: (start, end) => spans.has(`${start} ${end}`),
    choose: (span, element) => spanMenu(model, sentence, span[0].start, span[0].end, null, element),
    hover: (span, element) => {
      lightUp(span?.[0].start, span?.[0].end);
      if (!span) return hideTip();
      const { start, end } = span[0];
      return showTip(element, sentence.words.slice(start, end).join(" "), span.slice(0, 6).map((other) => [other.label, other.probability]));
    },
  });
  return [
    stepper(sentence, rank),
    fitted(picture),
    html("details", { open: true }, html("summary", {}, "Probabilities of constituents"), fitted(triangle, TOUCH.matches ? 1 : LEAST)),
    exports(TREE_FORMATS, { model, sentence, rank }),
  ];
}

/** A picture that shrinks a little where there is too little room, and then scrolls. */
function fitted(picture, least = LEAST) {
  picture.style.minWidth = `${least * picture.getAttribute("width")}px`;
  return html("div", { class: "scroll" }, picture);
}

/** Scroll a picture that is too wide: what has the focus is in the middle, otherwise the root or the tip of a triangle. */
function centre(box) {
  const node = box.querySelector(":focus") ?? box.querySelector(".node");
  const picture = box.querySelector("svg").getBoundingClientRect();
  const at = node ? node.querySelector("rect, path").getBoundingClientRect() : picture;
  box.scrollLeft = at.left + at.width / 2 - picture.left - box.clientWidth / 2;
}

function stepper(sentence, rank) {
  const count = sentence.trees.length;
  const step = (by, name, text) =>
    html("button", { type: "button", "aria-label": name, disabled: rank + by < 0 || rank + by >= count, onclick: () => showRank(rank + by, name) }, text);
  const { log_prob: logProb } = sentence.trees[rank];
  const parts = [`Tree ${rank + 1} of ${count}`];
  if (logProb !== null) parts.push(`probability ${shown(Math.exp(logProb))}`);
  if (sentence.fallback) parts.push(FALLBACKS[sentence.fallback] ?? sentence.fallback);
  return html("div", { class: "row stepper" }, step(-1, "Better tree", "‹"), html("span", {}, parts.join(", ")), step(1, "Next tree", "›"));
}

function showRank(rank, name) {
  state.rank = rank;
  remember();
  const model = document.activeElement.closest("section").dataset.model;
  show();
  const section = [...document.querySelectorAll("section[data-model]")].find((one) => one.dataset.model === model);
  const buttons = [...section.querySelectorAll(".stepper button")];
  (buttons.find((button) => button.getAttribute("aria-label") === name && !button.disabled) ?? buttons.find((button) => !button.disabled))?.focus();
}

function tagView(model, sentence) {
  const parts = [`Probability of all tags ${shown(Math.exp(sentence.sequences[0].log_prob))}`];
  if (sentence.fallback) parts.push(`fallback: ${sentence.fallback}`);
  const fixed = tagsFor(model, given());
  const list = tagList(sentence, `Tags of ${model.name}`, {
    isMarked: (word) => fixed[word] !== undefined,
    choose: (word, element) => tagMenu(model, sentence, word, sentence.sequences[0].tags[word], element),
  });
  return [html("p", {}, parts.join(", ")), list, exports(TAG_FORMATS, { model, sentence })];
}

function exports(formats, analysis) {
  const buttons = formats.map((format) => html("button", { type: "button", onclick: () => save(format, analysis) }, format[0]));
  return html("div", { class: "row exports", role: "group", "aria-label": "Save as" }, html("span", {}, "Save as"), ...buttons);
}

/** Stress the words of a span in all pictures. */
function lightUp(start, end) {
  for (const word of document.querySelectorAll(".word")) {
    const i = Number(word.dataset.word);
    word.classList.toggle("lit", start !== undefined && start <= i && i < end);
  }
}

// The form

function remember() {
  history.replaceState(null, "", `#${toFragment(state)}`);
}

function restore() {
  state = fromFragment(location.hash);
  const known = new Set(server.models.map((model) => model.name));
  state.models = state.models?.filter((name) => known.has(name)) ?? null;
  if (!state.models?.length) state.models = null;
  byId("text").value = state.text;
  byId("raw").checked = state.raw;
  for (const box of document.querySelectorAll("#models input")) box.checked = !state.models || state.models.includes(box.value);
  return analyse();
}

function readForm() {
  const text = byId("text").value;
  if (text !== state.text || byId("raw").checked !== state.raw) Object.assign(state, { text, raw: byId("raw").checked, given: {}, sentence: 0, rank: 0 });
  const boxes = [...document.querySelectorAll("#models input")];
  state.models = boxes.every((box) => box.checked) ? null : boxes.filter((box) => box.checked).map((box) => box.value);
}

function submit() {
  readForm();
  return analyse();
}

function turn(by) {
  state.sentence += by;
  state.rank = 0;
  remember();
  show();
}

async function copyLink() {
  readForm();
  remember();
  try {
    await navigator.clipboard.writeText(location.href);
    byId("status").textContent = "Link copied";
  } catch {
    byId("status").textContent = "The address of this page is the link";
  }
}

function setUp() {
  const boxes = server.models.map((model) =>
    html("label", {}, html("input", { type: "checkbox", value: model.name, checked: true, onchange: submit }), ` ${model.name}`),
  );
  byId("models").append(...boxes);
  byId("models").hidden = boxes.length < 2;
  byId("form").addEventListener("submit", (event) => (event.preventDefault(), submit()));
  byId("text").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(submit, PAUSE);
  });
  byId("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
  });
  byId("raw").addEventListener("change", submit);
  byId("link").addEventListener("click", copyLink);
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  addEventListener("hashchange", restore);
  setUpMenu();
}

async function start() {
  try {
    server = await (await fetch("/api/models")).json();
  } catch {
    byId("status").textContent = "The server does not answer: is it still running?";
    return;
  }
  setUp();
  await restore();
  document.body.dataset.ready = "yes";
}

start();
