"""Write lists.json: the rows of `softgrasp list` for the shipped hands, objects, scenes and robots.

Run it after a change of these files: python assets/make_lists.py. Where the files differ from those
of the list, softgrasp reads them instead, which takes seconds.
"""

from __future__ import annotations

import json
from pathlib import Path

from softgrasp.cli.listing import LISTS_FILE, STORED, compute_rows, files_digest

document = {kind: {"sha256": files_digest(kind), "rows": compute_rows(kind)} for kind in STORED}
text = json.dumps(document, indent=1, ensure_ascii=False)
(Path(__file__).parent / LISTS_FILE).write_text(text + "\n", encoding="utf-8")
