// One session: its conversation as it happens, its changes, what was refused to it, what it reached, its policy and its record.

import { call, follow, get, post } from "./api.js";
import { Conversation } from "./conversation.js";
import { diffView } from "./diff_view.js";
import { el, table } from "./dom.js";
import { itemView } from "./item_view.js";
import { showPolicy } from "./policy_view.js";
import { RecordList } from "./record_list.js";
import { recordOf } from "./records.js";
import { exact } from "./text.js";
import { WindowedList } from "./windowed_list.js";

const CELL_COMMAND = "!";
const TABS = {
  conversation: "Conversation", changes: "Changes", refused: "Refused", network: "Network", policy: "Policy", record: "Record",
};
const NETWORK_NOTE = "What commands of this session reached, and were refused: of each command the first 64. All of it, of all cells, is in the host's audit log: odyssey-ctl egress log.";
const RECORD_NOTE = "What this session's journal has of questions, answers, denials, connections and commands. The log of the whole host, which records commits too and whose records are chained by hashes, is root's: odyssey-ctl audit tail.";

// "added", "renamed from a": of CHANGE_KIND_RENAMED.
function kindOf(change) {
  const kind = change.kind.replace("CHANGE_KIND_", "").toLowerCase();
  return change.from ? `${kind} from ${exact(change.from)}` : kind;
}

class SessionPage {
  constructor(main, id, inbox) {
    this.id = id;
    this.path = `/sessions/${encodeURIComponent(id)}`;
    this.inbox = inbox;
    this.list = new WindowedList((item) => itemView(item, (...answer) => this.inbox.answer(...answer)),
                                 { role: "log", "aria-label": "conversation" });
    this.conversation = new Conversation(this.list);
    this.title = el("h1", {}, "Session");
    this.about = el("p", { class: "soft" });
    this.problem = el("p", { class: "problem", role: "alert" });
    this.body = el("div", { class: "session", role: "tabpanel", id: "tabpanel" });
    this.records = [];
    this.recordList = null;  // that is shown
    this.tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "parts of the session", onkeydown: (event) => this.step(event) });
    this.bar = this.makeBar();
    main.replaceChildren(el("div", { class: "session" }, this.title, this.about, this.tabs, this.body, this.problem));
    this.show("conversation");
    this.describe();
    this.close = follow(`${this.path}/events?after=0`, (event) => this.apply(event), (connected, closed) => {
      if (closed) this.fail(new Error("the session's events cannot be read: it was removed, or is another user's"));
    });
  }

  makeBar() {
    this.input = el("textarea", {
      rows: "1", "aria-label": "prompt, or ! and a command", placeholder: "Prompt, or !command to run in the session's cell",
      onkeydown: (event) => {
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        this.send();
      },
    });
    return el("form", { class: "prompt-bar", onsubmit: (event) => { event.preventDefault(); this.send(); } }, this.input,
              el("button", { type: "submit", class: "primary" }, "Send"),
              el("button", { type: "button", id: "cancel", onclick: () => this.cancel() }, "Cancel turn"));
  }

  fail(error) {
    this.problem.textContent = error.message;
  }

  async attempt(action) {
    this.problem.textContent = "";
    try {
      return await action();
    } catch (error) {
      this.fail(error);
      return undefined;
    }
  }

  describe() {
    this.info = this.attempt(async () => {
      const { session } = await get(`${this.path}/info`);
      this.title.textContent = exact(session.bundle_ref);
      const about = [this.id, session.agent_id, session.model_id, session.review ? "writes wait for a commit" : ""];
      this.about.textContent = about.filter(Boolean).map(exact).join(" · ");
      return session;
    });
  }

  async send() {
    const text = this.input.value.trim();
    if (text === "") return;
    this.input.value = "";
    this.list.toEnd();
    const sent = await this.attempt(async () => {
      if (text.startsWith(CELL_COMMAND)) await post(`${this.path}/exec`, { argv: ["sh", "-c", text.slice(1).trim()] });
      else await post(`${this.path}/run`, { input: { prompt: text, submission_id: crypto.randomUUID(), completed: false } });
      return true;
    });
    if (!sent && this.input.value === "") this.input.value = text;
  }

  cancel() {
    this.attempt(() => post(`${this.path}/cancel`));
  }

  apply(event) {
    this.conversation.apply(event);
    const record = recordOf(event);
    if (!record) return;
    this.records.push(record);
    this.recordList?.add(record);
  }

  // Arrow keys go through the tabs, of which one is reached by Tab.
  step(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const names = Object.keys(TABS);
    this.show(names[(names.indexOf(this.shown) + by + names.length) % names.length]);
    this.tabs.querySelector("[aria-selected=true]").focus();
  }

  showNth(index) {
    const name = Object.keys(TABS)[index];
    if (name) this.show(name);
  }

  show(name) {
    this.shown = name;
    this.tabs.replaceChildren(...Object.entries(TABS).map(([key, label]) => el("button", {
      type: "button", role: "tab", id: `tab-${key}`, "aria-selected": String(key === name), "aria-controls": "tabpanel",
      tabindex: key === name ? "0" : "-1", onclick: () => this.show(key),
    }, label)));
    this.body.setAttribute("aria-labelledby", `tab-${name}`);
    this.recordList = null;
    this.problem.textContent = "";
    if (name === "conversation") this.body.replaceChildren(this.list.element, this.bar);
    if (name === "changes") this.showChanges();
    if (name === "refused") this.showRefused();
    if (name === "network") this.recordList = new RecordList(this.body, this.records, { kind: "network", note: NETWORK_NOTE });
    if (name === "policy") showPolicy(this.body, this.path);
    if (name === "record") this.recordList = new RecordList(this.body, this.records, { note: RECORD_NOTE });
    this.list.schedule();
  }

  showChanges() {
    this.body.replaceChildren(el("p", { class: "empty" }, "Reading…"));
    this.attempt(async () => {
      const session = await this.info;
      if (!session?.review) {
        this.body.replaceChildren(el("p", { class: "empty" }, "This session writes to no directory of the host on a copy, so nothing waits for a commit."));
        return;
      }
      const parts = await get(`${this.path}/changes`);
      const changes = parts.flatMap(({ change }) => (change ? [change] : []));
      const digest = parts.find(({ end }) => end)?.end.digest ?? "";
      if (changes.length === 0) {
        this.body.replaceChildren(el("p", { class: "empty" }, "Nothing waits for a commit."));
        return;
      }
      const diff = await get(`${this.path}/diff`);
      if (this.shown !== "changes") return;
      const again = (action) => () => this.attempt(async () => {
        const { refused = [] } = await action() ?? {};
        this.showChanges();
        if (refused.length > 0) this.fail(new Error(refused.map(({ path, reason }) => `${exact(path)}: ${exact(reason)}`).join("; ")));
      });
      this.body.replaceChildren(
        table(["path", "change", "note"],
              changes.map((change) => [exact(change.path), kindOf(change), exact(change.conflict || change.mark || "")])),
        diffView(String(diff ?? "")),
        el("div", { class: "answers" },
           el("button", { type: "button", class: "primary", onclick: again(() => post(`${this.path}/commit`, { digest })) },
              "Commit"),
           el("button", { type: "button", class: "deny", onclick: again(() => post(`${this.path}/discard`)) }, "Discard")));
    });
  }

  showRefused() {
    const refused = this.records.filter(({ kind, verdict }) => verdict === "denied" && kind !== "approval");
    this.body.replaceChildren(refused.length === 0 ? el("p", { class: "empty" }, "Nothing was refused.")
      : el("div", { class: "scrolls" }, table(["what", "smallest change of the policy that would allow it"],
        refused.map(({ text, grant }) => [exact(text), grant ? el("pre", {}, exact(grant)) : "none would"]))));
  }
}

export function sessionPage(main, id, inbox) {
  const page = new SessionPage(main, id, inbox);
  page.input.focus();
  return { close: page.close, cancel: () => page.cancel(), showNth: (index) => page.showNth(index), focusPrompt: () => { page.show("conversation"); page.input.focus(); } };
}

export async function removeSession(id) {
  await call("DELETE", `/sessions/${encodeURIComponent(id)}`);
}
