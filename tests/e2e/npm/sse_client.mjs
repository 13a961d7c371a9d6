// sse_client.mjs URL TOKEN: prints, as JSON, the ids of the events of a stream to the end of its turn, and the
// Last-Event-ID of each connection. The first connection is lost in the middle of the fourth event, and the library
// connects again by itself.
import {EventSource} from "eventsource";

const [url, token] = process.argv.slice(2);
const ids = [];
const connections = [];

// Passes bytes on up to the middle of the fourth event, wherever the network cut the stream into chunks.
function cut(response) {
  let text = "";
  const body = response.body.pipeThrough(new TransformStream({
    transform(chunk, controller) {
      const before = text.length;
      text += Buffer.from(chunk).toString("latin1");
      const fourth = [...text.matchAll(/^id: /gm)][3];
      const data = fourth ? text.indexOf("data: ", fourth.index) : -1;
      const end = "data: {".length + data;
      if (data < 0 || text.length < end) return controller.enqueue(chunk);
      controller.enqueue(chunk.subarray(0, end - before));
      controller.terminate();
    }}));
  return new Response(body, {status: response.status, headers: response.headers});
}

// The timer with which the library connects again keeps no process alive.
const alive = setInterval(() => {}, 1000);
const source = new EventSource(url, {
  fetch: async (address, init) => {
    connections.push(init.headers["Last-Event-ID"] ?? "");
    const response = await fetch(address, {...init, headers: {...init.headers, Authorization: `Bearer ${token}`}});
    return connections.length === 1 ? cut(response) : response;
  },
});
source.onmessage = (message) => {
  ids.push(Number(message.lastEventId));
  if (JSON.parse(message.data).payload.type !== "turn_completed") return;
  source.close();
  clearInterval(alive);
  console.log(JSON.stringify({ids, connections}));
};
