// sse_client.mjs URL TOKEN: prints the ids of the events of a stream to the end of its turn, as JSON. After the third it
// ends the connection, and the library connects again by itself.
import {EventSource} from "eventsource";

const [url, token] = process.argv.slice(2);
const ids = [];
let abort = new AbortController();
const source = new EventSource(url, {
  fetch: (address, init) => {
    abort = new AbortController();
    init.signal?.addEventListener("abort", () => abort.abort());
    return fetch(address, {
      ...init, signal: abort.signal, headers: {...init.headers, Authorization: `Bearer ${token}`}});
  },
});
source.onmessage = (message) => {
  ids.push(Number(message.lastEventId));
  if (ids.length === 3) abort.abort();
  if (JSON.parse(message.data).payload.type !== "turn_completed") return;
  source.close();
  console.log(JSON.stringify(ids));
};
