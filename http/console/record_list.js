// Records with a search: newest last, as they come.

import { el, table } from "./dom.js";
import { KINDS, matches, totalsOf } from "./records.js";
import { ago, exact } from "./text.js";
import { WindowedList } from "./windowed_list.js";

const choice = (label, values, change) => el("select", { "aria-label": label, onchange: change },
  el("option", { value: "" }, `any ${label}`), values.map((value) => el("option", { value }, value)));

function recordView(record) {
  return el("div", { class: `record ${record.verdict}` },
            el("time", { datetime: record.at, title: record.at }, record.at.slice(11, 19)), el("span", { class: "kind" }, record.kind),
            el("span", { class: "what" }, exact(record.text),
               record.grant ? el("details", {}, el("summary", {}, "would be allowed by"), el("pre", {}, exact(record.grant))) : null),
            el("span", { class: "verdict" }, record.verdict));
}

export class RecordList {
  // `kind`: those of this kind alone, else all with a choice; `note`: what is not among them.
  constructor(body, records, { kind = "", note }) {
    this.records = records;
    this.kind = kind;
    this.text = el("input", { type: "search", "aria-label": "search", placeholder: "Search", oninput: () => this.show() });
    this.kinds = choice("kind", KINDS, () => this.show());
    this.verdicts = choice("verdict", ["asked", "allowed", "denied", "audited"], () => this.show());
    this.found = el("span", { class: "soft", role: "status" });
    this.place = el("div", { class: "session" });
    this.totals = el("div", { class: "totals" });
    body.replaceChildren(el("p", { class: "soft" }, note),
      el("form", { class: "inline", role: "search", onsubmit: (event) => event.preventDefault() }, this.text, kind ? null : this.kinds, this.verdicts, this.found),
      kind === "network" ? this.totals : null, this.place);
    this.show();
  }

  matches(record) {
    return matches(record, { kind: this.kind || this.kinds.value, verdict: this.verdicts.value, text: this.text.value.trim() });
  }

  show() {
    this.list = new WindowedList(recordView, { role: "log", "aria-label": "records" });
    for (const record of this.records) if (this.matches(record)) this.list.append(record);
    this.place.replaceChildren(this.list.element);
    this.count();
  }

  add(record) {
    if (!this.matches(record)) return;
    this.list.append(record);
    this.count();
  }

  count() {
    const count = this.list.items.length;
    this.found.textContent = `${count} ${count === 1 ? "record" : "records"}`;
    if (this.kind !== "network") return;
    this.totals.replaceChildren(count === 0 ? "" : table(["host and port", "allowed", "denied", "audited", "programs", "last"],
      totalsOf(this.list.items).slice(0, 20).map((total) => [exact(total.place), String(total.allowed), String(total.denied), String(total.audited),
        exact([...total.programs].join(", ")), ago(total.last)])));
  }
}
