// Elements, made without ever parsing text as markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** An HTML element; attributes that begin with `on` are listeners, strings become text. */
export function html(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** An SVG element, in the same way. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** A tag, which may be broken after each feature. */
export const breakable = (tag) => tag.split(/(?<=[|])/).flatMap((part) => [part, html("wbr")]);

export const byId = (id) => document.getElementById(id);

/** A probability for people: two digits, and never 1 or 0 unless it is that. */
export function shown(probability) {
  if (probability >= 0.995) return probability > 0.99999 ? "1" : ">.99";
  if (probability < 0.005) return "<.01";
  return probability.toFixed(2).replace(/^0/, "");
}

/**
 * Moving among elements with the arrow keys: one of them can be reached with Tab, and `move(element, key)` gives the
 * element to go to, or null.
 */
export function rove(container, elements, move) {
  let current = elements[0];
  for (const element of elements) {
    element.setAttribute("tabindex", element === current ? "0" : "-1");
    element.addEventListener("focus", () => {
      current.setAttribute("tabindex", "-1");
      current = element;
      current.setAttribute("tabindex", "0");
    });
  }
  container.addEventListener("keydown", (event) => {
    const element = elements.find((one) => one === event.target);
    if (element === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      element.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    } else if (event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End") {
      const target = event.key === "Home" ? elements[0] : event.key === "End" ? elements.at(-1) : move(element, event.key);
      event.preventDefault();
      if (target) target.focus();
    }
  });
}
