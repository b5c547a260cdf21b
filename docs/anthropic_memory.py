"""The memory tool of Anthropic's API (memory_20250818) over engramd.

EngramMemoryTool is a BetaAbstractMemoryTool of anthropic-sdk-python that keeps its
files as an agent's memories: it starts `engramctl mcp --tools files` and hands each
command on. Made for version 0.121.0 of the SDK; nothing else is needed.

    with EngramMemoryTool(["engramctl", "mcp", "--tools", "files"]) as memory:
        for message in Anthropic().beta.messages.tool_runner(
                model="claude-sonnet-4-5", max_tokens=2048, tools=[memory],
                messages=[{"role": "user", "content": "Remember that I like coffee."}]):
            print(message)

Key, owner and relays are engramctl's matter: a profile, flags, or the environment.
"""
import json
import subprocess
import threading

from anthropic.lib.tools import ToolError
from anthropic.tools import BetaAbstractMemoryTool


class EngramMemoryTool(BetaAbstractMemoryTool):
    def __init__(self, command=("engramctl", "mcp", "--tools", "files"), **options):
        super().__init__(**options)
        self._lock = threading.Lock()
        self._id = 0
        self._server = subprocess.Popen(list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        try:
            self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "anthropic-sdk", "version": "1"}})
            self._send({"method": "notifications/initialized"})
        except BaseException:
            self.close()
            raise

    def view(self, command):
        return self._run(command)

    def create(self, command):
        return self._run(command)

    def str_replace(self, command):
        return self._run(command)

    def insert(self, command):
        return self._run(command)

    def delete(self, command):
        return self._run(command)

    def rename(self, command):
        return self._run(command)

    def close(self):
        """End the server. What was written is at the relays already."""
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _run(self, command):
        result = self._ask("tools/call", {"name": "memory", "arguments": command.to_dict()})
        # The first block is the SDK's text; one more says if a relay did not answer.
        text = "\n".join(block["text"] for block in result["content"])
        if result.get("isError"):
            raise ToolError(text)
        return text

    def _send(self, message):
        self._server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._server.stdin.flush()

    def _ask(self, method, params):
        with self._lock:
            self._id += 1
            self._send({"id": self._id, "method": method, "params": params})
            for line in self._server.stdout:
                message = json.loads(line)
                if message.get("id") != self._id or "method" in message:
                    continue
                if "error" in message:
                    raise ToolError(message["error"]["message"])
                return message["result"]
        raise RuntimeError("engramctl mcp has ended")
