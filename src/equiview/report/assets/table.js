// Tables: sorted by a click on a head, filtered by words and by the values of a column, a page at a time.

const PAGE_ROWS = 100;
const FEW = 40; // values a column may have to be offered as a choice

/** A value as the page writes it: three significant digits, like the words beside it. */
function written(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return value.toLocaleString("en").replace("-", "−");
  const size = Math.abs(value);
  const text = size < 0.0005 ? value.toExponential(1) : value.toFixed(size < 1 ? 3 : size < 10 ? 2 : size < 100 ? 1 : 0);
  return text.replace("-", "−");
}

/** A p value as it is usually written. */
function probability(p) {
  return typeof p !== "number" ? "–" : p < 0.001 ? "< 0.001" : p.toFixed(3);
}

const HEADS = { p_holm: "p (Holm)" };
const WRITERS = { p: probability, p_holm: probability };

class DataTable {
  constructor(place, { names, numeric, values }, caption) {
    const writers = names.map((name) => WRITERS[name] || written);
    Object.assign(this, { names, numeric, values, writers, sorted: null, upward: true, whole: false, shown: PAGE_ROWS, words: "", chosen: new Map() });
    this.size = values.length ? values[0].length : 0;
    this.body = make("tbody");
    // A column that says the same in every row is said once; a row of nothing is shown on demand.
    this.columns = names.map((_, column) => column).filter((column) => this.size < 3 || values[column].some((value) => value !== values[column][0]));
    this.empty = this.emptyRows();
    this.heads = this.columns.map((column) => this.head(names[column], column));
    this.count = make("span", { class: "note", role: "status" });
    this.more = make("button", { type: "button" }, "Show more");
    this.more.addEventListener("click", () => { this.shown += 5 * PAGE_ROWS; this.fill(); });
    const table = make("table", {}, make("caption", { class: "unseen" }, caption), make("thead", {}, make("tr", {}, ...this.heads)), this.body);
    const constant = names.map((_, column) => column).filter((column) => !this.columns.includes(column) && values[column][0] !== null);
    if (constant.length) {
      const said = constant.map((column) => `${HEADS[names[column]] || names[column].replaceAll("_", " ")} ${writers[column](values[column][0])}`);
      place.append(make("p", { class: "note" }, `In every row: ${said.join(", ")}.`));
    }
    place.append(...(this.size > 8 ? [this.tools()] : []), make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table));
    const rest = make("button", { type: "button", "aria-pressed": "false" }, `Show ${this.empty.size} rows of 0 or without an interval`);
    rest.addEventListener("click", () => {
      this.whole = !this.whole;
      rest.setAttribute("aria-pressed", String(this.whole));
      this.fill();
    });
    place.append(make("div", { class: "tools" }, this.count, this.more, ...(this.empty.size ? [rest] : [])));
    this.fill();
  }

  /** Rows of 0 [0, 0] and those without an interval, in a table of estimates; none where there are no others. */
  emptyRows() {
    const [value, low, high] = ["value", "low", "high"].map((name) => this.values[this.names.indexOf(name)]);
    const found = new Set();
    if (!value || !low || !high) return found;
    for (let row = 0; row < this.size; row++) {
      if (low[row] === null || (value[row] === 0 && low[row] === 0 && high[row] === 0)) found.add(row);
    }
    return found.size < this.size ? found : new Set();
  }

  head(name, column) {
    const button = make("button", { type: "button" }, HEADS[name] || name.replaceAll("_", " "));
    const head = make("th", { scope: "col", class: this.numeric[column] ? "num" : null, "aria-sort": "none" }, button);
    button.addEventListener("click", () => {
      this.upward = this.sorted === column ? !this.upward : true;
      this.sorted = column;
      this.heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", this.upward ? "ascending" : "descending");
      this.fill();
    });
    return head;
  }

  tools() {
    const search = make("input", { type: "search", placeholder: "Filter rows" , "aria-label": "Filter rows" });
    search.addEventListener("input", () => { this.words = search.value.toLowerCase(); this.shown = PAGE_ROWS; this.fill(); });
    const tools = make("div", { class: "tools" }, search);
    this.names.forEach((name, column) => {
      const distinct = this.numeric[column] ? [] : [...new Set(this.values[column])];
      if (distinct.length < 2 || distinct.length > FEW) return;
      const select = make("select", {}, make("option", { value: "" }, "all"));
      distinct.forEach((value, place) => select.append(make("option", { value: String(place + 1) }, written(value))));
      select.addEventListener("change", () => {
        if (select.value) this.chosen.set(column, distinct[Number(select.value) - 1]);
        else this.chosen.delete(column);
        this.shown = PAGE_ROWS;
        this.fill();
      });
      tools.append(make("label", {}, name.replaceAll("_", " "), select));
    });
    return tools;
  }

  rows() {
    const words = this.words.split(/\s+/).filter(Boolean);
    const kept = [];
    for (let row = 0; row < this.size; row++) {
      if (!this.whole && this.empty.has(row)) continue;
      if ([...this.chosen].some(([column, value]) => this.values[column][row] !== value)) continue;
      if (words.length) {
        const text = this.values.map((values, column) => this.writers[column](values[row])).join(" ").toLowerCase();
        if (!words.every((word) => text.includes(word))) continue;
      }
      kept.push(row);
    }
    if (this.sorted !== null) {
      const values = this.values[this.sorted];
      const sign = this.upward ? 1 : -1;
      kept.sort((a, b) => sign * compare(values[a], values[b], sign));
    }
    return kept;
  }

  fill() {
    const rows = this.rows();
    const shown = rows.slice(0, this.shown);
    this.body.replaceChildren(...shown.map((row) => make("tr", {}, ...this.columns.map((column) =>
      make("td", { class: this.numeric[column] ? "num" : null, dir: this.numeric[column] ? null : "auto" }, this.writers[column](this.values[column][row]))))));
    this.count.textContent = rows.length === shown.length ? `${rows.length} rows` : `${shown.length} of ${rows.length} rows`;
    this.more.hidden = rows.length === shown.length;
  }
}

/** Numbers by size, words by the alphabet, what is missing last either way. */
function compare(a, b, sign) {
  if (a === null || b === null) return a === b ? 0 : a === null ? sign : -sign;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

document.querySelectorAll("details[data-table]").forEach((fold) => {
  fold.addEventListener("toggle", async () => {
    if (!fold.open || fold.dataset.filled) return;
    fold.dataset.filled = "yes";
    const content = await unpack(fold.dataset.table);
    new DataTable(fold, content.table || content, fold.dataset.caption);
  });
});
