"""An MCP server on stdio with two tools: notes in a file of the workspace."""

import json
import os
import sys

FILE = "notes.txt"
TOOLS = [
    {
        "name": "add_note",
        "description": "Adds a line to the notes.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    },
    {
        "name": "list_notes",
        "description": "Returns all notes, a line each.",
        "inputSchema": {"type": "object", "properties": {}},
    },
]


def call(name, arguments):
    if name == "add_note":
        with open(FILE, "a", encoding="utf-8") as file:
            file.write(arguments["text"] + "\n")
        return "added"
    if name == "list_notes":
        if not os.path.exists(FILE):
            return "there are none"
        with open(FILE, encoding="utf-8") as file:
            return file.read()
    raise ValueError(f"there is no tool {name}")


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "notes", "version": "0.1.0"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": call(params["name"], params["arguments"])}]}
    raise ValueError(f"there is no method {method}")


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue  # a notification
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        reply["result"] = answer(message["method"], message.get("params", {}))
    except (KeyError, ValueError) as error:
        reply["error"] = {"code": -32602, "message": str(error)}
    print(json.dumps(reply), flush=True)
