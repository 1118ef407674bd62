// The keys, and saving without losing anything: a judgement is sent until the server says that it has it.
"use strict";

const form = document.querySelector("#answers");
const help = document.querySelector("#help");
const status = document.querySelector("#status");
const back = document.querySelector("#back");
const picture = document.querySelector("figure img");
const sets = form ? [...form.querySelectorAll("fieldset")] : [];
let vote = null; // the id of the judgement that was sent: sent again, it is the same judgement
let waiting = false;
let current = 0;

const chosen = (set) => set.querySelector("input:checked");

function mark(index) {
  current = index;
  sets.forEach((set, place) => set.classList.toggle("current", place === index));
}

function go(index) {
  mark(index);
  sets[index]?.scrollIntoView({ block: "nearest" });
}

function toNext() {
  const open = sets.findIndex((set, place) => place > current && !chosen(set));
  const first = sets.findIndex((set) => !chosen(set) && "required" in set.dataset);
  go(open >= 0 ? open : first);
}

function choose(number) {
  const set = sets[current] ?? sets.at(-1);
  const input = set?.querySelectorAll("input")[number - 1];
  if (!input) return;
  current = sets.indexOf(set);
  if (input.checked && !("required" in set.dataset)) { // what is optional can be taken back
    input.checked = false;
    changed(set);
    return;
  }
  input.checked = true;
  changed(set);
  toNext();
}

function changed(set) {
  set.removeAttribute("aria-invalid");
  say("");
}

function say(text, wrong = false) {
  if (!status) return;
  status.textContent = text;
  status.classList.toggle("wrong", wrong);
}

function newId() { // crypto.randomUUID is not there on plain http
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

async function save() {
  if (vote || !sets.length) return;
  if (picture?.complete && !picture.naturalWidth) {
    say("The picture cannot be shown. Tell the person who gave you the link.", true);
    return;
  }
  const missing = sets.findIndex((set) => "required" in set.dataset && !chosen(set));
  if (missing >= 0) {
    sets[missing].setAttribute("aria-invalid", "true");
    go(missing);
    say("Answer this question first.", true);
    return;
  }
  const answers = Object.fromEntries(sets.filter(chosen).map((set) => [set.dataset.id, chosen(set).value]));
  vote = newId();
  waiting = true;
  form.classList.add("saving");
  sets.forEach((set) => (set.disabled = true));
  const { item, shown } = document.body.dataset;
  const problem = await sent(JSON.stringify({ vote, item: Number(item), answers, shown }));
  waiting = false;
  if (problem === null) {
    location.replace(document.body.dataset.home);
    return;
  }
  vote = null;
  form.classList.remove("saving");
  sets.forEach((set) => (set.disabled = false));
  say(problem, true);
}

async function sent(body) { // null when it is saved, else what is wrong with it
  const headers = { "Content-Type": "application/json", "X-CSRF-Token": document.body.dataset.csrf };
  for (let wait = 500; ; wait = Math.min(2 * wait, 8000)) {
    let reason = "no connection";
    try {
      const signal = AbortSignal.timeout(15000);
      const reply = await fetch(`${document.body.dataset.home}votes`, { method: "POST", headers, body, signal });
      if (reply.ok) return null;
      if (reply.status === 409) return (await reply.json()).problem;
      if (reply.status < 500) return "This could not be saved. Open your link again.";
      reason = "the server cannot save at the moment";
    } catch { /* no connection: try again */ }
    say(`Not saved yet: ${reason}. Trying again; leave this page open.`, true);
    await pause(wait);
  }
}

function keyed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  // Places on the keyboard count besides letters: an Arabic or a French keyboard has others on the same keys.
  if (help && (event.key === "?" || (event.code === "Slash" && event.shiftKey))) {
    event.preventDefault();
    help.open ? help.close() : help.showModal();
    return;
  }
  if (help?.open) return;
  const digit = /^(?:Digit|Numpad)([1-9])$/.exec(event.code) ?? (event.shiftKey ? null : /^([1-9])$/.exec(event.key));
  if (digit && !vote) {
    event.preventDefault();
    choose(Number(digit[1]));
  } else if ((event.key.toLowerCase() === "u" || event.code === "KeyU") && back && !vote) {
    event.preventDefault();
    location.assign(back.href);
  } else if (event.key === "Enter" && !event.repeat && !event.target.closest("a, button, summary")) {
    event.preventDefault();
    save();
  }
}

document.addEventListener("keydown", keyed);
document.querySelector("#ask-help")?.addEventListener("click", () => help.showModal());
addEventListener("beforeunload", (event) => { if (waiting) event.preventDefault(); });
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
if (form) {
  form.addEventListener("submit", (event) => { event.preventDefault(); save(); });
  sets.forEach((set, place) => {
    set.addEventListener("focusin", () => { mark(place); });
    set.addEventListener("change", () => changed(set));
  });
  mark(Math.max(0, sets.findIndex((set) => !chosen(set))));
  document.querySelector("main").focus({ preventScroll: true });
}
document.documentElement.dataset.ready = "";
