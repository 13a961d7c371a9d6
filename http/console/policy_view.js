// What the policy of a session's cell comes to, where each value is from, and the answer to a question about it.

import { get } from "./api.js";
import { el, table } from "./dom.js";
import { exact } from "./text.js";

const QUESTIONS = {
  path: ["read or write", "/etc/shadow"],
  destination: ["connect to", "api.example.com:443"],
  command: ["run by Bash", "git push origin main"],
};

const VERDICTS = { allow: "Yes", ask: "A person is asked", deny: "No" };

function answerView(kind, text, decision) {
  return el("div", { class: `decision ${decision.verdict}` },
            el("p", {}, `May a command ${QUESTIONS[kind][0]} `, el("code", {}, exact(text)), "? ",
               el("strong", {}, VERDICTS[decision.verdict] ?? exact(decision.verdict))),
            decision.reason ? el("p", {}, exact(decision.reason)) : null,
            decision.rule ? el("p", { class: "soft" }, "decided by: ", el("code", {}, exact(decision.rule))) : null);
}

function policyView(policy) {
  const parts = [];
  if (policy.refusal) parts.push(el("p", { class: "problem" }, `No cell would be made: ${exact(policy.refusal)}`));
  parts.push(el("h2", {}, "Values"), table(["field", "value", "from"],
    (policy.values ?? []).map(({ field, value, source }) => [el("code", {}, exact(field)), exact(value), exact(source)])));
  if (policy.network_policy) parts.push(el("h2", {}, "Endpoints"), el("pre", { class: "code", tabindex: "0" }, exact(policy.network_policy)));
  if (policy.plan?.length > 0) {
    parts.push(el("h2", {}, "Plan"), el("ul", { class: "plan" }, policy.plan.map((line) => el("li", {}, exact(line)))));
  }
  if (policy.granted?.length > 0) {
    parts.push(el("h2", {}, "Granted by the operator's ceiling"),
               table(["asked for", "value", "rule"], policy.granted.map(({ key, value, rule }) => [exact(key), exact(value), exact(rule)])));
  }
  if (policy.policy_digest) parts.push(el("p", { class: "soft" }, "policy digest ", el("code", {}, policy.policy_digest)));
  return parts;
}

// `path`: of the session's routes.
export function showPolicy(body, path) {
  const kind = el("select", { "aria-label": "may a command" },
                  Object.entries(QUESTIONS).map(([name, [words]]) => el("option", { value: name }, words)));
  const text = el("input", { "aria-label": "what", size: "36", placeholder: QUESTIONS.path[1], spellcheck: "false" });
  const answer = el("section", { "aria-live": "polite", "aria-label": "answer" });
  const policy = el("section", { "aria-label": "policy" }, el("p", { class: "empty" }, "Reading…"));
  const problem = el("p", { class: "problem", role: "alert" });
  kind.addEventListener("change", () => { text.placeholder = QUESTIONS[kind.value][1]; });

  async function ask(event) {
    event.preventDefault();
    problem.textContent = "";
    answer.replaceChildren();
    const asked = { kind: kind.value, text: text.value.trim() || text.placeholder };
    try {
      const { decision } = await get(`${path}/policy?${new URLSearchParams({ [asked.kind]: asked.text })}`);
      answer.replaceChildren(answerView(asked.kind, asked.text, decision));
    } catch (error) {
      problem.textContent = error.message;
    }
  }
  body.replaceChildren(el("div", { class: "scrolls" },
    el("form", { class: "inline", onsubmit: ask }, el("label", {}, "May a command", kind), text, el("button", { type: "submit", class: "primary" }, "Ask")),
    problem, answer, policy));
  get(`${path}/policy`).then((got) => policy.replaceChildren(...policyView(got)), (error) => {
    policy.replaceChildren();
    problem.textContent = error.message;
  });
}
