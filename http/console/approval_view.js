// A request for approval: everything that will run, and the answers. The words are those of the terminal's question.

import { el } from "./dom.js";
import { diffView } from "./diff_view.js";
import { exact, bytes, until } from "./text.js";
import { answersOf, describeAnswer, isAboutDestination } from "./words.js";

const UNKNOWN = /\u0001/g;  // of SimpleCommand.argv: known only at run time

const GRANTS = {
  mount_read: (grant) => `read ${exact(grant.value)} on the host`,
  mount_write: (grant) => `read and write ${exact(grant.value)} on the host`,
  executable: (grant) => `execute ${exact(grant.value)}`,
  network_endpoint: (grant) => `connect to ${exact(grant.value)}`,
  limit: (grant) => `${exact(grant.limit)} ${amount(grant.limit, grant.value)}` +
    (grant.present ? ` instead of ${amount(grant.limit, grant.present)}` : ""),
};

function amount(limit, value) {
  return limit.endsWith("_bytes") && /^\d+$/.test(value) ? `${value} (${bytes(value)})` : exact(value);
}

// A word as a shell would need it.
function quoted(word) {
  const text = exact(word.replace(UNKNOWN, "\u2026"));
  return /^[\w@%+=:,./\u2026-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function commandLine(command) {
  if (command.kind === "opaque") return `known only when it runs: ${exact(command.argv?.[0] ?? "")}`;
  const words = (command.argv ?? []).map(quoted).join(" ");
  const note = { wrapper: "  (starts the next one)", guess: "  (perhaps a command)" }[command.kind];
  return words + (note ?? "");
}

// Arguments as `key: value`; a value of several lines below its key.
export function argumentsView(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return el("pre", {}, exact(JSON.stringify(value)));
  const rows = Object.entries(value).map(([key, item]) => {
    const text = typeof item === "string" ? item : JSON.stringify(item, null, 1);
    return [el("dt", {}, exact(key)), el("dd", {}, el("pre", {}, exact(text)))];
  });
  return el("dl", { class: "arguments" }, rows);
}

export function approvalFacts(request) {
  const facts = [];
  const fact = (label, ...content) => facts.push(el("dt", {}, label), el("dd", {}, ...content));
  if (request.leads_to) fact("leads to", el("code", {}, exact(request.leads_to)));
  const commands = request.parsed?.commands ?? [];
  if (commands.length > 1 || (commands.length === 1 && commands[0].kind !== "runs")) {
    fact("starts", el("ul", {}, commands.map((command) => el("li", {}, el("code", {}, commandLine(command))))));
  }
  const grants = request.grants?.grants ?? [];
  if (grants.length > 0) {
    fact("adds to the cell", el("ul", {}, grants.map((grant) =>
      el("li", {}, (GRANTS[grant.key] ?? ((other) => `${other.key}: ${exact(other.value)}`))(grant)))));
    if (request.reason) fact(isAboutDestination(request) ? "it was refused" : "the model's reason", exact(request.reason));
  }
  if (request.cwd) fact("in", el("code", {}, exact(request.cwd)));
  if (request.scope) fact("always means", el("code", {}, exact(request.scope)));
  if (request.rule) fact("asked by the rule", el("code", {}, exact(request.rule)));
  if (request.risk) fact("risk", exact(request.risk));
  if (request.worker_session_id) fact("asked by the worker in", el("code", {}, exact(request.worker_session_id)));
  if (request.expires_at) fact("denied without an answer", until(request.expires_at));
  return el("dl", { class: "facts" }, facts);
}

// `answer(decision, scope)` → a promise; what fails is shown beside the buttons. Without it the request is only shown.
export function approvalView(request, { answer, answered, session } = {}) {
  const problem = el("p", { class: "problem", role: "alert" });
  const buttons = answersOf(request).map(
    ([label, key, decision, scope = ""]) => el("button", {
      type: "button", class: `answer ${decision} ${scope}`, "data-key": key, "aria-keyshortcuts": key,
      onclick: async (event) => {
        const all = event.currentTarget.parentElement.querySelectorAll("button");
        all.forEach((button) => { button.disabled = true; });
        problem.textContent = "";
        try {
          await answer(decision, scope);
        } catch (error) {
          problem.textContent = error.message;
          all.forEach((button) => { button.disabled = false; });
        }
      },
    }, label, " ", el("kbd", {}, key)));
  const diff = request.diff ? diffView(request.diff) : null;
  return el("article", { class: `approval ${answered ? "answered" : "waits"}`, tabindex: "-1",
                         "aria-label": `${request.tool_name} asks for approval` },
            el("h3", {}, `${exact(request.tool_name)} asks for approval`,
               session ? el("a", { href: `#/sessions/${session}`, class: "of" }, session.slice(0, 12)) : null),
            argumentsView(request.arguments ?? parsed(request.arguments_json)), diff, approvalFacts(request),
            answered ? el("p", { class: "answer-given" }, exact(describeAnswer(answered)))
                     : answer ? el("div", { class: "answers" }, buttons, problem) : null);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text ?? {};
  }
}
