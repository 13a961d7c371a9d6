// Requests, answers, denials and decisions in words. Pure: no document. What an agent wrote stays as it is: the caller makes it safe.

export const isAboutDestination = (request) => /^Network\b/.test(request.rule);

export function describeRequest(request) {
  const text = typeof request.arguments === "string" ? request.arguments : JSON.stringify(request.arguments ?? {});
  return `${request.tool_name} asks: ${text}${request.rule ? ` (rule ${request.rule})` : ""}`;
}

export function describeAnswer(answer) {
  const words = { allow_once: "allowed once", allow_always: "allowed for the rest of the session", deny: "denied" };
  const of = { session: "allowed for the rest of the session", turn: "allowed for this turn", call: "allowed for this call" };
  const said = (answer.decision !== "deny" && of[answer.grant_scope]) || words[answer.decision] || answer.decision;
  const by = !answer.by || answer.by === "client" ? `by uid ${answer.by_uid}` : `by agentd (${answer.by})`;
  return `${said} ${by}${answer.note ? `: ${answer.note}` : ""}`;
}

export function describeDenial(denial) {
  const count = Number(denial.count) > 1 ? ` (${denial.count} times)` : "";
  const hint = denial.hint ? " (a guess)" : "";
  return `${denial.process} may not ${denial.access} ${denial.resource}${count}: ${denial.rule}${hint}`;
}

export function describeDecision(decision) {
  const what = [decision.method, decision.path].filter(Boolean).join(" ");
  const status = decision.status ? ` ${decision.status}` : "";
  const why = decision.verdict === "denied" ? `: ${decision.reason || decision.code}` : "";
  return `${decision.program || "a program"} ${decision.verdict === "denied" ? "may not reach" : "reached"} ` +
    `${decision.host}:${decision.port}${what ? ` (${what}${status})` : ""}${why}`;
}

// The answers that a request can be given, as [label, key, decision, scope of its grants]: those of the terminal's question.
export function answersOf(request) {
  const deny = ["Deny", "n", "deny"];
  if ((request.grants?.grants ?? []).length === 0) {
    const always = request.scope ? [["Always in this session", "a", "allow_always"]] : [];
    return [["Allow once", "y", "allow_once"], ...always, deny];
  }
  const once = isAboutDestination(request) ? "Allow this turn" : "Allow this call";
  return [[once, "y", "allow_once"], ["This session", "s", "allow_once", "session"], deny];
}
