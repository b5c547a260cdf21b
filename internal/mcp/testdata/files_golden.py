"""Writes files.golden.txt: what anthropic-sdk-python's own tool over a folder answers
to files.script.jsonl. Run it with that version of the SDK (pip install anthropic==0.121.0).

The SDK shows for a directory what the file system says of it. We show how much is in
it, and so does the golden file.
"""

import json
import os
import sys
import tempfile

import anthropic
from anthropic.lib.tools import ToolError
from anthropic.lib.tools import _beta_builtin_memory_tool as sdk

assert anthropic.__version__ == "0.121.0", anthropic.__version__
here = os.path.dirname(os.path.abspath(__file__))
root = tempfile.mkdtemp()
tool = sdk.BetaLocalFilesystemMemoryTool(root)


def inside(path):
    """How many bytes are shown as in a directory."""
    total = 0
    for at, dirs, files in os.walk(root + path):
        dirs[:] = [d for d in dirs if not d.startswith(".")]
        total += sum(os.path.getsize(os.path.join(at, f)) for f in files if not f.startswith("."))
    return sdk._format_file_size(total)


def sized(text):
    lines = text.split("\n")
    for i, line in enumerate(lines):
        _, tab, path = line.partition("\t")
        if tab and (i == 1 or path.endswith("/")):
            lines[i] = inside(path) + tab + path
    return "\n".join(lines)


with open(os.path.join(here, "files.script.jsonl")) as script, open(os.path.join(here, "files.golden.txt"), "w") as golden:
    for line in script:
        given = json.loads(line)
        golden.write("> " + line)
        try:
            text = tool.call(given)
            if text.startswith("Here're"):
                text = sized(text)
            golden.write(text + "\n")
        except ToolError as e:
            golden.write("error: %s\n" % e)
