"""The SDK's memory tool over a folder and over engramd: the same answers."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from anthropic.lib.tools import ToolError
from anthropic.lib.tools import _beta_builtin_memory_tool as sdk

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("INTEROP_BIN") or ROOT / "bin")
DATA = ROOT / "internal" / "agent" / "mcp" / "testdata"
ENV = {name: value for name, value in os.environ.items() if not name.startswith("ENGRAM")}

sys.path.insert(0, str(ROOT / "docs"))
from anthropic_memory import EngramMemoryTool  # noqa: E402


def script():
    return (DATA / "files.script.jsonl").read_text(encoding="utf-8").splitlines()


def answers(tool, changed=lambda text: text):
    """What a tool says to the script, in the form of the golden file."""
    for line in script():
        try:
            said = changed(tool.call(json.loads(line)))
        except ToolError as e:
            said = f"error: {e}"
        yield f"> {line}\n{said}\n"


class Folder:
    """The SDK's own tool over a new folder."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="engramd-interop-")
        self.tool = sdk.BetaLocalFilesystemMemoryTool(self.folder.name)
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def inside(self, path):
        """How many bytes are shown as in a directory."""
        total = 0
        for at, folders, files in os.walk(self.folder.name + path):
            folders[:] = [f for f in folders if not f.startswith(".")]
            total += sum(os.path.getsize(os.path.join(at, f)) for f in files if not f.startswith("."))
        return sdk._format_file_size(total)

    def sized(self, text):
        """A listing with that in place of what the file system says of a directory."""
        if not text.startswith("Here're"):
            return text
        lines = text.split("\n")
        for i, line in enumerate(lines):
            _, tab, path = line.partition("\t")
            if tab and (i == 1 or path.endswith("/")):
                lines[i] = self.inside(path) + tab + path
        return "\n".join(lines)

    def answers(self):
        return answers(self.tool, self.sized)


class Relay:
    """A relay on a free port, with its data in a new folder."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="engramd-interop-")
        self.process = subprocess.Popen(
            [BIN / "engramd", "serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0",
             "--data", Path(self.folder.name) / "data"], stderr=subprocess.PIPE, text=True, env=ENV)
        for line in self.process.stderr:
            found = re.search(r'\bready\b.*\burl="?(ws://[^\s"]+)', line)
            if found:
                self.url = found.group(1)
                return self
        raise RuntimeError("engramd did not start")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.stderr.read()
        self.process.wait()
        self.process.stderr.close()
        self.folder.cleanup()

    def key(self, name):
        path = Path(self.folder.name) / name
        made = subprocess.run([BIN / "engramctl", "key", "new", path], check=True, capture_output=True, text=True, env=ENV)
        return path, re.search(r"npub1[a-z0-9]+", made.stdout + made.stderr).group(0)


class Memory(unittest.TestCase):
    maxDiff = None

    def test_golden(self):
        golden = (DATA / "files.golden.txt").read_text(encoding="utf-8")
        with Folder() as folder:
            self.assertEqual("".join(folder.answers()), golden)

    def test_same_answers(self):
        with Relay() as relay, Folder() as folder:
            agent, _ = relay.key("agent.key")
            _, owner = relay.key("owner.key")
            os.environ["HOME"] = relay.folder.name
            command = [BIN / "engramctl", "mcp", "--tools", "files", "--key-file", agent, "--owner", owner, "--relay", relay.url]
            with EngramMemoryTool(command) as ours:
                self.assertEqual(ours.to_dict(), {"type": "memory_20250818", "name": "memory"})
                for got, want in zip(answers(ours), folder.answers()):
                    self.assertEqual(got, want)
                with self.assertRaisesRegex(ToolError, "cannot be told from"):
                    ours.call({"command": "create", "path": "/memories/CORE", "file_text": "x"})


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        with Folder() as folder:
            (DATA / "files.golden.txt").write_text("".join(folder.answers()), encoding="utf-8")
    else:
        unittest.main()
