// The explorer: pick a query, see what every system returned for it. Lists, texts and pictures are in the page
// in compressed pieces; only those on the screen are opened, and a few are kept.

const NOTHING = 0xffffff;
const LEVELS = 65535;
const QUERIES_SHOWN = 24;
const RANKS_SHOWN = 20;

class Explorer {
  constructor(place) {
    this.place = place;
    this.id = place.dataset.explorer;
    this.at = (name) => place.querySelector(`[data-part="${name}"]`);
    this.pieces = remembering((name) => inflate(`${this.id}-${name}`));
    this.texts = remembering((name) => inflate(`${this.id}-${name}`).then((bytes) => JSON.parse(new TextDecoder().decode(bytes))));
    this.start = 0;
    this.chosen = null;
    this.request = 0;
  }

  async begin() {
    this.meta = await unpack(`${this.id}-meta`);
    const { attributes, runs, queries } = this.meta;
    this.codes = {};
    for (const name of Object.keys(attributes)) this.codes[name] = new Uint16Array(await this.pieces(name));
    this.lowered = queries.map((label) => label.toLowerCase());
    const names = this.meta.languages;
    const wordFor = (name, value) => (name === "language" && names[value] ? names[value][0] : value);
    this.query = this.control("queries", {
      system: runs.length > 1 ? runs.map((run, i) => [String(i), run.name]) : null,
      "first result": [["right", "right"], ["wrong", "wrong"], ["none", "nothing right in the list"], ["differ", "systems differ"]],
      ...Object.fromEntries(Object.entries(this.meta.asked).map(([name, { values }]) => [`query ${name}`, values.map((value, i) => [String(i), wordFor(name, value)])])),
      "first language": attributes.language ? attributes.language.map((code, i) => [String(i), wordFor("language", code)]) : null,
    }, () => { this.start = 0; this.listQueries(); });
    const choices = Object.fromEntries(Object.entries(attributes).map(([name, values]) => [name, values.map((value, i) => [String(i), wordFor(name, value)])]));
    this.result = this.control("results", { ...choices, correctness: [["1", "right"], ["0", "wrong"]] }, () => this.showLists());
    this.at("all").hidden = runs.every((run) => run.depth <= RANKS_SHOWN);
    this.at("search").addEventListener("input", () => { this.start = 0; this.listQueries(); });
    this.at("back").addEventListener("click", () => this.turn(-QUERIES_SHOWN));
    this.at("on").addEventListener("click", () => this.turn(QUERIES_SHOWN));
    this.at("all").addEventListener("click", () => { this.everything = !this.everything; this.showLists(); });
    this.at("list").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) this.choose(Number(button.dataset.query));
    });
    await this.listQueries();
    await this.choose(this.matches[0]);
    this.place.dataset.ready = "yes";
  }

  /** Selects for some choices, and a function that reads them. */
  control(part, choices, changed) {
    const selects = {};
    for (const [name, values] of Object.entries(choices)) {
      if (!values || values.length < 2) continue;
      selects[name] = make("select", { "data-choice": name }, make("option", { value: "" }, name === "system" ? "any" : "all"),
        ...values.map(([value, word]) => make("option", { value }, word)));
      selects[name].addEventListener("change", changed);
      const button = this.at(part).querySelector("button");
      this.at(part).insertBefore(make("label", {}, name, selects[name]), button);
    }
    return (name) => (selects[name] ? selects[name].value : "");
  }

  turn(by) {
    this.start = Math.max(0, Math.min(this.start + by, this.matches.length - 1));
    this.listQueries();
  }

  /** Row numbers of the queries that the search and the choices leave. */
  matching() {
    const words = this.at("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const [system, first, language] = ["system", "first result", "first language"].map(this.query);
    const runs = system === "" ? this.meta.runs : [this.meta.runs[Number(system)]];
    const right = (run, query) => run.firstRight[query] === 1;
    const tests = {
      right: (query) => runs.some((run) => right(run, query)),
      wrong: (query) => runs.some((run) => !right(run, query)),
      none: (query) => runs.some((run) => run.firstRight[query] === 0),
      differ: (query) => new Set(this.meta.runs.map((run) => right(run, query))).size > 1,
    };
    const chosen = Object.entries(this.meta.asked).map(([name, { codes }]) => [codes, this.query(`query ${name}`)]).filter(([, wanted]) => wanted);
    const rows = [];
    for (let query = 0; query < this.lowered.length; query++) {
      if (!words.every((word) => this.lowered[query].includes(word))) continue;
      if (chosen.some(([codes, wanted]) => codes[query] !== Number(wanted))) continue;
      if (first && !tests[first](query)) continue;
      if (language && !runs.some((run) => run.firstLanguage[query] === Number(language))) continue;
      rows.push(query);
    }
    return rows;
  }

  async listQueries() {
    this.matches = this.matching();
    const shown = this.matches.slice(this.start, this.start + QUERIES_SHOWN);
    const request = ++this.request;
    const pictures = await Promise.all(shown.map((query) => this.picture(query)));
    if (request !== this.request) return; // a later choice overtook this one
    this.at("list").replaceChildren(...shown.map((query, i) => make("li", {},
      make("button", { type: "button", "data-query": query, "aria-pressed": String(query === this.chosen) },
        pictures[i] ? make("img", { src: pictures[i], alt: "" }) : null, make("bdi", {}, this.meta.queries[query])))));
    const last = this.start + shown.length;
    this.at("count").textContent = this.matches.length ? `${this.start + 1}–${last} of ${written(this.matches.length)} queries` : "No query matches.";
    this.at("back").disabled = this.start === 0;
    this.at("on").disabled = last >= this.matches.length;
    // What is shown below is one of what was searched for.
    if (this.chosen !== null && this.matches.length && !this.matches.includes(this.chosen)) await this.choose(this.matches[0]);
  }

  /** The picture of a query or an item, by row number. */
  picture(row, of = "queries") {
    const numbers = this.meta.pictured[of];
    return pictureAt(numbers ? numbers[row] : null);
  }

  async choose(query) {
    if (query === undefined) return;
    this.chosen = query;
    this.at("list").querySelectorAll("button").forEach((button) => button.setAttribute("aria-pressed", String(Number(button.dataset.query) === query)));
    const picture = await this.picture(query);
    this.at("asked").replaceChildren(...(picture ? [make("img", { src: picture, alt: "" })] : []), make("p", {}, make("bdi", {}, this.meta.queries[query])));
    await this.showLists();
  }

  /** One run's list for one query: items, scores, what is right. */
  async list(index, query) {
    const { depth, low, high } = this.meta.runs[index];
    const size = this.meta.sizes.queries;
    const bytes = new Uint8Array(await this.pieces(`lists-${index}-${Math.floor(query / size)}`));
    const plane = bytes.length / 6;
    const from = (query % size) * depth;
    let level = 0;
    const entries = [];
    for (let rank = 0; rank < depth; rank++) {
      const i = from + rank;
      const item = bytes[i] | (bytes[plane + i] << 8) | (bytes[2 * plane + i] << 16);
      level = (level + (bytes[3 * plane + i] | (bytes[4 * plane + i] << 8))) & LEVELS;
      if (item !== NOTHING) entries.push({ rank: rank + 1, item, score: low + (level / LEVELS) * (high - low), right: bytes[5 * plane + i] === 1 });
    }
    return entries;
  }

  wanted(entry) {
    const right = this.result("correctness");
    if (right && entry.right !== (right === "1")) return false;
    return Object.keys(this.codes).every((name) => {
      const value = this.result(name);
      return value === "" || this.codes[name][entry.item] === Number(value);
    });
  }

  async showLists() {
    const query = this.chosen;
    const columns = await Promise.all(this.meta.runs.map(async (run, index) => {
      const all = await this.list(index, query);
      const left = all.filter((entry) => this.wanted(entry));
      const shown = this.everything ? left : left.slice(0, RANKS_SHOWN);
      const rows = await Promise.all(shown.map((entry) => this.row(entry)));
      const title = make("p", { class: "panel-title" }, make("span", { class: "subject" },
        make("span", { class: "dot", style: `background:${run.colour}`, "aria-hidden": "true" }), make("bdi", {}, run.name)));
      const count = make("p", { class: "note" }, left.length ? `${shown.length} of ${left.length}${left.length < all.length ? " that match" : ""}` : "Nothing in this list matches.");
      return make("div", { class: "panel" }, title, make("ol", { class: this.codes.language ? "ranked" : "ranked plain" }, ...rows), count);
    }));
    if (query !== this.chosen) return;
    this.at("lists").replaceChildren(...columns);
    this.at("all").textContent = this.everything ? `Show ${RANKS_SHOWN}` : "Show all ranks";
    this.at("all").setAttribute("aria-pressed", String(Boolean(this.everything)));
  }

  async row({ rank, item, score, right }) {
    const size = this.meta.sizes.items;
    const text = (await this.texts(`texts-${Math.floor(item / size)}`))[item % size];
    const picture = await this.picture(item, "items");
    const value = (name) => (this.codes[name] ? this.meta.attributes[name][this.codes[name][item]] : undefined);
    const language = value("language");
    const [name, direction] = this.meta.languages[language] || [language, "auto"];
    const tier = value("tier");
    const chip = language ? make("span", { class: tier ? `chip tier-${tier}` : "chip", title: [name, tier && `${tier} tier`, value("country")].filter(Boolean).join(", ") }, language) : null;
    const mark = make("span", { class: `mark ${right ? "right" : "wrong"}` },
      make("span", { "aria-hidden": "true" }, right ? "✓" : "✗"), make("span", { class: "unseen" }, right ? "right" : "wrong"));
    return make("li", {}, make("span", { class: "rank" }, String(rank)), chip,
      make("span", { class: "caption", dir: direction, lang: language }, picture ? make("img", { src: picture, alt: "" }) : null, text === null ? "" : text), mark, make("span", { class: "score" }, score.toFixed(3).replace("-", "−")));
  }
}

// Begun when it comes near the screen: a reader of the opening does not wait for it.
const explorers = new IntersectionObserver((entries) => {
  entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
    explorers.unobserve(entry.target);
    new Explorer(entry.target).begin().catch((error) => console.error("explorer:", error));
  });
}, { rootMargin: "400px" });
document.querySelectorAll("[data-explorer]").forEach((place) => explorers.observe(place));
