// Calls of odyssey-http, with the cookie that the one-time link was exchanged for.

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// The JSON answer; null if there is none. Throws an ApiError with the server's own words.
export async function call(method, path, body) {
  const response = await fetch(path, {
    method,
    credentials: "same-origin",
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  }).catch(() => { throw new ApiError(0, "odyssey-http cannot be reached"); });
  const text = await response.text();
  let answer = null;
  try {
    answer = text === "" ? null : JSON.parse(text);
  } catch {
    answer = text;
  }
  if (response.ok) return answer;
  throw new ApiError(response.status, answer?.error?.message ?? `${response.status} ${response.statusText}`);
}

export const get = (path) => call("GET", path);
export const post = (path, body = {}) => call("POST", path, body);

// Server-sent events, as long as the page is there: the browser connects again by itself, and resumes after the last id.
// `state(connected)` is called at each change. Returns a function that closes it.
export function follow(path, message, state = () => {}) {
  const source = new EventSource(path);
  source.onopen = () => state(true);
  source.onmessage = (event) => message(JSON.parse(event.data), event.lastEventId);
  source.onerror = () => state(false, source.readyState === EventSource.CLOSED);
  // It cannot go on, and says why.
  source.addEventListener("end", () => {
    source.close();
    state(false, true);
  });
  return () => source.close();
}
