"""A server of three protocols of models, for egress_inference_test.py. What comes before /v1 in the path says how it
answers: /ok, /busy (429), /echo (what it was sent), /cut (the answer breaks off). Keeps each request in a log.
"""

import http.server
import json
import ssl
import sys
import threading

TOKENS_IN, TOKENS_OUT = 7, 5
_OPENAI = {"prompt_tokens": TOKENS_IN, "completion_tokens": TOKENS_OUT, "total_tokens": 12}
_OTHERS = {"input_tokens": TOKENS_IN, "output_tokens": TOKENS_OUT}
_GEMINI = {"promptTokenCount": TOKENS_IN, "candidatesTokenCount": TOKENS_OUT}

_released = threading.Event()
_lock = threading.Lock()


def whole(path, model):
    """An answer in JSON."""
    if path.endswith("/chat/completions") or path.endswith("/completions"):
        return {"model": model, "choices": [{"message": {"content": "hello"}}], "usage": _OPENAI}
    if path.endswith("/embeddings"):
        return {"data": [{"embedding": [0.5]}], "usage": {"prompt_tokens": TOKENS_IN}}
    if path.endswith("/count_tokens"):
        return {"input_tokens": TOKENS_IN}
    if "generateContent" in path:
        return {"candidates": [{"content": {"parts": [{"text": "hello"}]}}], "usageMetadata": _GEMINI}
    return {"model": model, "content": [{"text": "hello"}], "usage": _OTHERS}


def events(path, body):
    """The events of a stream; None: wait until another request releases it."""
    if path.endswith("/chat/completions"):
        yield {"choices": [{"delta": {"content": "hello"}}]}
        if body["model"] == "wait":
            yield None
        if body.get("stream_options", {}).get("include_usage"):
            yield {"choices": [], "usage": _OPENAI}
    elif path.endswith("/messages"):
        yield {"type": "message_start", "message": {"usage": {"input_tokens": TOKENS_IN, "output_tokens": 1}}}
        yield {"type": "message_delta", "usage": {"output_tokens": TOKENS_OUT}}
    elif path.endswith("/responses"):
        yield {"type": "response.completed", "response": {"usage": _OTHERS}}
    else:
        yield {"candidates": [], "usageMetadata": _GEMINI}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    log = None

    def log_message(self, *_):
        pass

    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        with _lock:
            self.log.write(json.dumps({"path": self.path, "fields": self.headers.items(), "body": text}) + "\n")
        body = json.loads(text)
        how, path = self.path.split("?")[0][1:].split("/", 1)
        if body.get("model") == "release":
            _released.set()
        if how == "busy":
            self.answer(429, {"error": {"message": "busy"}})
        elif how == "echo":
            self.answer(400, {"error": str(self.headers)}, ("X-Echo", str(self.headers.items())))
        elif body.get("stream") or "stream" in path:
            self.stream(path, body, cut=how == "cut")
        else:
            self.answer(200, whole("/" + path, body.get("model")))

    def answer(self, status, value, *fields):
        text = json.dumps(value).encode()
        self.send_response(status)
        for name, content in (("Content-Type", "application/json"), ("Content-Length", str(len(text))),
                              ("Set-Cookie", "account=operator"), *fields):
            self.send_header(name, content)
        self.end_headers()
        self.wfile.write(text)

    def stream(self, path, body, cut):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events("/" + path, body):
            if event is None:
                _released.wait()
                continue
            self.chunk(b"data: " + json.dumps(event).encode() + b"\n\n")
            if cut:
                self.close_connection = True
                return
        self.chunk(b"data: [DONE]\n\n")
        self.chunk(b"")

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    context = None

    def finish_request(self, request, client_address):
        if self.context:
            request = self.context.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)
        request.close()

    def handle_error(self, *_):
        pass


def run(handler, kind, address, port, log_path, certificate, key):
    """Serves until it is killed."""
    if kind == "https":
        Server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        Server.context.load_cert_chain(certificate, key)
    handler.log = open(log_path, "w", encoding="utf-8", buffering=1)
    server = Server((address, int(port)), handler)
    print("ready", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    run(Handler, *sys.argv[1:])
