"use strict";
// Reading what the page carries, and its theme. Nothing here or below asks the network for anything.

const page = { unpacked: new Map(), failures: 0 };

/** The bytes of a compressed element, by its id. */
async function inflate(id) {
  const text = document.getElementById(id).textContent;
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : fromBase64(text);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

function fromBase64(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

/** The JSON of a compressed element, inflated once. */
function unpack(id) {
  if (!page.unpacked.has(id)) {
    page.unpacked.set(id, inflate(id).then((bytes) => JSON.parse(new TextDecoder().decode(bytes))));
  }
  return page.unpacked.get(id);
}

const KEPT = 48; // pieces of a kind that stay opened

/** A loader that remembers its last results. */
function remembering(load) {
  const known = new Map();
  return (key) => {
    const value = known.get(key) || load(key);
    known.delete(key);
    known.set(key, value);
    if (known.size > KEPT) known.delete(known.keys().next().value);
    return value;
  };
}

const picturePieces = remembering((piece) => inflate(`pictures-${piece}`).then((bytes) => JSON.parse(new TextDecoder().decode(bytes))));

/** A picture by its number in the page, as a data URI. */
async function pictureAt(number) {
  if (number === null || number === undefined) return null;
  const size = Number(document.documentElement.dataset.pictures);
  return (await picturePieces(Math.floor(number / size)))[number % size];
}

/** An element with attributes and children; text is always text, never markup. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Give the browser a moment to answer the reader. */
const breathe = () => new Promise((resolve) => setTimeout(resolve, 0));

const THEMES = ["auto", "light", "dark"];

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  document.getElementById("theme").textContent = `Theme: ${theme}`;
  document.dispatchEvent(new Event("themechange"));
}

(function startTheme() {
  const button = document.getElementById("theme");
  let theme = "auto";
  // A page opened from a file may not be allowed to remember.
  try { theme = localStorage.getItem("equiview-theme") || "auto"; } catch { /* auto it is */ }
  if (!THEMES.includes(theme)) theme = "auto";
  button.hidden = false;
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    try { localStorage.setItem("equiview-theme", theme); } catch { /* for this visit only */ }
    setTheme(theme);
  });
  setTheme(theme);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme(theme));
})();

// Parts are folded; a link into one opens it, and so does the button, for all.
(function startParts() {
  const parts = [...document.querySelectorAll("details.part")];
  const button = document.getElementById("unfold");
  const open = (id) => {
    const target = id && document.getElementById(id);
    const part = target && target.closest("details.part");
    if (part) { part.open = true; target.scrollIntoView(); }
  };
  const follow = () => open(decodeURIComponent(location.hash.slice(1)));
  addEventListener("hashchange", follow);
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link) open(link.getAttribute("href").slice(1));
  });
  follow();
  const word = () => { button.textContent = parts.every((part) => part.open) ? "Close all" : "Open all"; };
  button.hidden = !parts.length;
  button.addEventListener("click", () => {
    const opened = parts.every((part) => part.open);
    parts.forEach((part) => { part.open = !opened; });
  });
  parts.forEach((part) => part.addEventListener("toggle", word));
  word();
})();
