// The menu of a phrase or a word, and the tip beside the pointer.

import { byId, html, shown } from "./dom.js";

let opener = null;

/**
 * Open the menu at an element. title: what it is about; groups: [{title, choices: [{text, probability, isOn, act}]}];
 * select: {label, options, act} for a long list, or null.
 */
export function openMenu(element, title, groups, select) {
  const menu = byId("menu");
  opener = element;
  hideTip();
  const choices = groups.flatMap((group) => [
    group.title ? html("p", {}, group.title) : null,
    ...group.choices.map((choice) =>
      html(
        "button",
        { type: "button", "aria-pressed": choice.isOn === undefined ? null : String(choice.isOn), onclick: () => close(choice.act) },
        html("span", {}, choice.text),
        choice.probability === undefined ? null : html("span", { class: "number" }, shown(choice.probability)),
      ),
    ),
  ]);
  menu.replaceChildren(html("h3", { id: "menu-title" }, title), ...choices.filter(Boolean));
  if (select) {
    const options = select.options.map((name) => html("option", { value: name }, name));
    const list = html("select", { "aria-label": select.label }, html("option", { value: "" }, select.label), ...options);
    list.addEventListener("change", () => close(() => select.act(list.value)));
    menu.append(list);
  }
  menu.showPopover();
  place(menu, element, false);
  menu.querySelector("button").focus();
}

function close(act) {
  byId("menu").hidePopover();
  act();
}

/** Put a box below or above an element, where there is room. */
function place(box, element, isAbove) {
  const at = element.getBoundingClientRect();
  const room = { width: document.documentElement.clientWidth, height: document.documentElement.clientHeight };
  const left = Math.max(8, Math.min(at.left + at.width / 2 - box.offsetWidth / 2, room.width - box.offsetWidth - 8));
  const below = at.bottom + 6;
  const hasRoom = at.top > box.offsetHeight + 14;
  const goesBelow = !hasRoom || (!isAbove && below + box.offsetHeight < room.height);
  box.style.left = `${left}px`;
  box.style.top = `${Math.max(8, goesBelow ? Math.min(below, room.height - box.offsetHeight - 8) : at.top - box.offsetHeight - 6)}px`;
}

/** Show a tip at an element: a title and lines [[text, probability]]. */
export function showTip(element, title, lines) {
  const tip = byId("tip");
  const rows = lines.map(([text, share]) => html("div", {}, html("span", {}, text), html("span", { class: "number" }, share.toFixed(3))));
  tip.replaceChildren(html("b", {}, title), ...rows);
  tip.hidden = false;
  place(tip, element, true);
}

export function hideTip() {
  byId("tip").hidden = true;
}

export function setUpMenu() {
  const menu = byId("menu");
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    if (event.target.tagName === "SELECT") return;
    event.preventDefault();
    const items = [...menu.querySelectorAll("button, select")];
    const step = event.key === "ArrowDown" ? 1 : items.length - 1;
    items[(items.indexOf(document.activeElement) + step) % items.length].focus();
  });
  menu.addEventListener("toggle", (event) => {
    if (event.newState === "closed" && opener?.isConnected && menu.contains(document.activeElement)) opener.focus();
  });
}
