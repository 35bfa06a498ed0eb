"""What the site makes of notebooks: a page with their text, their code and what it showed."""

import json
from html import escape
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Put a page in the place of each notebook."""
    for found in list(files):
        if found.src_uri.endswith(".ipynb"):
            content = _page(json.loads(Path(str(found.abs_src_path)).read_text(encoding="utf-8")))
            files.remove(found)
            files.append(File.generated(config, found.src_uri.replace(".ipynb", ".md"), content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Lead links to notebooks, which other viewers show as they are, to their pages."""
    return markdown.replace(".ipynb)", ".md)")


def _page(notebook: dict[str, Any]) -> str:
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_shown(output) for output in cell["outputs"]]
    return "\n\n".join(parts)


def _shown(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        look = output["metadata"]["image/png"]
        source = f"data:image/png;base64,{data['image/png'].strip()}"
        return f'<p><img src="{source}" alt="{escape(look["alt"])}" style="width:{look["width"]}px"></p>'
    if "text/html" in data:
        return "".join(data["text/html"])
    return f"```\n{''.join(data.get('text/plain', output.get('text', '')))}\n```"
