"""A server that speaks the four protocols of models that agents of others use, whole and streamed, and plays a model that
does what its prompt says: each <run>COMMAND</run> of it becomes a call of the tool that the request offers for shell
commands, one after the other, and then the answer is DONE. A request that offers no such tool is answered by a text.
Keeps each request in a log, as model_server.py does.
"""

import itertools
import json
import re
import sys
import threading

import model_server

DONE = "All of it is done."
TOKENS_IN, TOKENS_OUT = 11, 3
SHELLS = ("Bash", "bash", "shell_command", "exec_command", "run_shell_command", "shell")

_RUN = re.compile(r"<run>(.*?)</run>", re.DOTALL)
_lock = threading.Lock()


def strings(value):
    """Every string of a JSON value."""
    if isinstance(value, str):
        yield value
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(member)


def objects(value):
    """Every object of a JSON value."""
    if isinstance(value, dict):
        yield value
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(member)


def tools(body):
    """The tools of a request, in any of the protocols: their names and the schemas of their arguments."""
    for tool in itertools.chain(body.get("tools") or (), *(each.get("functionDeclarations", ())
                                                           for each in body.get("tools") or ())):
        tool = tool.get("function", tool)
        schema = next((tool[key] for key in ("parameters", "input_schema", "parametersJsonSchema") if tool.get(key)), {})
        if "name" in tool:
            yield tool["name"], schema


def is_result(value):
    """Whether an object of the conversation is what a call of a tool came to."""
    return (value.get("role") == "tool" or value.get("type") in ("tool_result", "function_call_output")
            or "functionResponse" in value)


def arguments(schema, command):
    """What a tool for shell commands is called with."""
    out = {}
    for name, of in schema.get("properties", {}).items():
        kind = str(of.get("type", "string")).lower()
        if name in ("command", "cmd"):
            out[name] = ["bash", "-c", command] if kind == "array" else command
        elif name in schema.get("required", ()):
            out[name] = {"boolean": False, "number": 1000, "integer": 1000}.get(kind, "run it")
    return out


def call(body):
    """The call to make next, a name, arguments and a number; None: there is nothing left to do, or nothing to do it with."""
    talk = [body[key] for key in ("messages", "input", "contents") if key in body]
    commands = next((found for text in strings(talk) if (found := _RUN.findall(text))), [])
    done = sum(is_result(value) for value in objects(talk))
    offered = dict(tools(body))
    shell = next((name for name in SHELLS if name in offered), None)
    if shell is None or done >= len(commands):
        return None
    return shell, arguments(offered[shell], commands[done]), done + 1


# ── The protocols. Each gives the events of a stream, as pairs of a name and data, and the answer without one ─────────────


def chat(model, wanted):
    usage = {"prompt_tokens": TOKENS_IN, "completion_tokens": TOKENS_OUT, "total_tokens": TOKENS_IN + TOKENS_OUT}
    message, reason = {"role": "assistant", "content": DONE}, "stop"
    if wanted:
        function = {"name": wanted[0], "arguments": json.dumps(wanted[1])}
        message = {"role": "assistant", "content": None,
                   "tool_calls": [{"index": 0, "id": f"call_{wanted[2]}", "type": "function", "function": function}]}
        reason = "tool_calls"
    head = {"id": "chat_1", "created": 1, "model": model}
    pieces = [{"index": 0, "delta": message, "finish_reason": None}, {"index": 0, "delta": {}, "finish_reason": reason}]
    events = [(None, {**head, "object": "chat.completion.chunk", "choices": [piece]}) for piece in pieces]
    events.append((None, {**head, "object": "chat.completion.chunk", "choices": [], "usage": usage}))
    whole = {"index": 0, "message": message, "finish_reason": reason}
    return events, {**head, "object": "chat.completion", "choices": [whole], "usage": usage}


def responses(model, wanted):
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": DONE, "annotations": []}]}
    if wanted:
        item = {"type": "function_call", "id": f"fc_{wanted[2]}", "call_id": f"call_{wanted[2]}", "name": wanted[0], "status": "completed",
                "arguments": json.dumps(wanted[1])}
    usage = {"input_tokens": TOKENS_IN, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": TOKENS_OUT,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": TOKENS_IN + TOKENS_OUT}
    whole = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": model, "output": [item],
             "usage": usage}
    events = [{"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}},
              {"type": "response.output_item.added", "output_index": 0, "item": item},
              {"type": "response.output_item.done", "output_index": 0, "item": item},
              {"type": "response.completed", "response": whole}]
    return [(event["type"], {**event, "sequence_number": at}) for at, event in enumerate(events)], whole


def anthropic(model, wanted):
    usage = {"input_tokens": TOKENS_IN, "output_tokens": TOKENS_OUT}
    block, empty, delta, reason = ({"type": "text", "text": DONE}, {"type": "text", "text": ""},
                                   {"type": "text_delta", "text": DONE}, "end_turn")
    if wanted:
        block = {"type": "tool_use", "id": f"toolu_{wanted[2]}", "name": wanted[0], "input": wanted[1]}
        empty, reason = {**block, "input": {}}, "tool_use"
        delta = {"type": "input_json_delta", "partial_json": json.dumps(wanted[1])}
    whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [block],
             "stop_reason": reason, "stop_sequence": None, "usage": usage}
    events = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
              {"type": "content_block_start", "index": 0, "content_block": empty},
              {"type": "content_block_delta", "index": 0, "delta": delta},
              {"type": "content_block_stop", "index": 0},
              {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
              {"type": "message_stop"}]
    return [(event["type"], event) for event in events], whole


def gemini(model, wanted):
    part = {"functionCall": {"name": wanted[0], "args": wanted[1]}} if wanted else {"text": DONE}
    whole = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
             "usageMetadata": {"promptTokenCount": TOKENS_IN, "candidatesTokenCount": TOKENS_OUT,
                               "totalTokenCount": TOKENS_IN + TOKENS_OUT}, "modelVersion": model}
    return [(None, whole)], whole


PROTOCOLS = {"/chat/completions": chat, "/responses": responses, "/messages": anthropic}


class Handler(model_server.Handler):
    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        with _lock:
            self.log.write(json.dumps({"path": self.path, "fields": self.headers.items(), "body": text}) + "\n")
        body, path = json.loads(text), self.path.split("?")[0]
        if path.endswith(("/count_tokens", ":countTokens")):
            self.answer(200, {"input_tokens": TOKENS_IN, "totalTokens": TOKENS_IN})
            return
        protocol = next((of for end, of in PROTOCOLS.items() if path.endswith(end)), gemini)
        events, whole = protocol(body.get("model", path.rpartition("/")[2].partition(":")[0]), call(body))
        if not body.get("stream") and "stream" not in path:
            self.answer(200, whole)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for name, data in events:
            self.chunk((f"event: {name}\n" if name else "").encode() + b"data: " + json.dumps(data).encode() + b"\n\n")
        if protocol is chat:
            self.chunk(b"data: [DONE]\n\n")
        self.chunk(b"")


def _main(*arguments):
    model_server.run(Handler, *arguments)


if __name__ == "__main__":
    _main(*sys.argv[1:])
