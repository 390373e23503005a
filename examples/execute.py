"""Execute the notebooks of this folder and keep their outputs: `python examples/execute.py`, or `make notebooks`."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from traitlets.config import Config

FOLDER = Path(__file__).parent
LIMIT = 600  # seconds for a cell
ESCAPES = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")  # a kernel asks programs for colours


def executed(path: Path) -> NotebookNode:
    """A notebook with outputs as they are computed now, in a folder of its own, where it may write."""
    notebook = nbformat.read(path, as_version=4)
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder, "work")
        work.mkdir()
        client = NotebookClient(
            notebook,
            timeout=LIMIT,
            kernel_name="python3",
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": str(work)}},
            config=Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/kernel"}}),
        )
        client.execute()
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for output in outputs(notebook):
        output.get("metadata", {}).clear()
        if output.output_type == "stream":
            output.text = ESCAPES.sub("", output.text)
    return notebook


def outputs(notebook: NotebookNode) -> list[NotebookNode]:
    """All outputs of a notebook."""
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def texts(notebook: NotebookNode) -> list[str]:
    """Texts that a notebook's cells print and show: the same on every machine."""
    return [
        output.text if output.output_type == "stream" else output.data["text/plain"] for output in outputs(notebook)
    ]


if __name__ == "__main__":
    for chosen in sorted(FOLDER.glob("*.ipynb")):
        nbformat.write(executed(chosen), chosen)
        print(chosen.relative_to(FOLDER.parent))
