#!/usr/bin/env python3
"""An MCP server over streamable HTTP, of the Internet of network.py: KIND ADDRESS PORT LOG CERTIFICATE KEY.

KIND is "json" or "events", the form of its answers. Its log has each request: method, headers and message.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KIND, ADDRESS, PORT, LOG = sys.argv[1:5]
SESSION = "session-1"
expired = set()
refused = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):  # pylint: disable=invalid-name
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        note = json.dumps({"headers": {name.lower(): value for name, value in self.headers.items()}, "message": message})
        with open(LOG, "a", encoding="ascii") as log:
            log.write(json.dumps({"connection": note, "bytes": note.encode().hex()}) + "\n")
        method, number = message.get("method"), message.get("id")
        if number is None or method is None:
            if "error" in message:
                refused.append(message["error"]["code"])
            self.answer(202)
            return
        if method != "initialize" and self.headers.get("Mcp-Session-Id") != SESSION + str(len(expired)):
            self.answer(404, b"no such session")
            return
        headers = {}
        if method == "initialize":
            headers["Mcp_Session_Id"] = SESSION + str(len(expired))
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                      "serverInfo": {"name": "remote", "version": "1"}}
        elif method == "tools/list":
            result = {"tools": [{"name": name, "description": name, "inputSchema": {"type": "object"}}
                                for name in ("echo", "expire", "refused", "fails", "html")]}
        else:
            name, arguments = message["params"]["name"], message["params"]["arguments"]
            if name == "fails":
                self.answer(500, b"it broke")
                return
            if name == "html":
                self.answer(200, b"<html>not the protocol</html>", Content_Type="text/html")
                return
            if name == "expire":
                expired.add(len(expired))
            text = json.dumps(refused) if name == "refused" else arguments.get("text", "")
            result = {"content": [{"type": "text", "text": text}]}
        answer = json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()
        if KIND == "json":
            self.answer(200, answer, Content_Type="application/json", **headers)
            return
        asks = json.dumps({"jsonrpc": "2.0", "id": "s1", "method": "roots/list"}).encode()
        events = b": hello\n\ndata: " + asks + b"\n\nevent: message\ndata: " + answer + b"\n\n"
        self.answer(200, events, Content_Type="text/event-stream", **headers)


server = ThreadingHTTPServer((ADDRESS, int(PORT)), Handler)
print("ready", flush=True)
server.serve_forever()
