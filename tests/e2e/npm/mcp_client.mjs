// The SDK's client of the Model Context Protocol: lists the tools, calls one, answers what it is asked.
// usage: node mcp_client.mjs MODULES DECISION TOOL ARGUMENTS COMMAND…
//        node mcp_client.mjs MODULES DECISION TOOL ARGUMENTS URL TOKEN
import { pathToFileURL } from "node:url";

const [modules, decision, tool, args, command, ...words] = process.argv.slice(2);
const sdk = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/sdk/dist/esm/${path}`));
const { Client } = await sdk("client/index.js");
const { StdioClientTransport } = await sdk("client/stdio.js");
const { StreamableHTTPClientTransport } = await sdk("client/streamableHttp.js");
const { ElicitRequestSchema } = await sdk("types.js");

const client = new Client({ name: "test", version: "1" }, { capabilities: decision === "none" ? {} : { elicitation: {} } });
const asked = [];
if (decision !== "none") {
  client.setRequestHandler(ElicitRequestSchema, (request) => {
    asked.push(request.params.message);
    return decision === "decline" ? { action: "decline" } : { action: "accept", content: { decision } };
  });
}
const transport = command.startsWith("http:")
  ? new StreamableHTTPClientTransport(new URL(command), { requestInit: { headers: { Authorization: `Bearer ${words[0]}` } } })
  : new StdioClientTransport({ command, args: words, stderr: "inherit" });
await client.connect(transport);
const { tools } = await client.listTools();
const progress = [];
const result = await client.callTool({ name: tool, arguments: JSON.parse(args) }, undefined,
  { onprogress: (each) => progress.push(each.message) });
console.log(JSON.stringify({ server: client.getServerVersion(), tools: tools.map((each) => each.name), result, asked, progress }));
await transport.terminateSession?.();
await client.close();
