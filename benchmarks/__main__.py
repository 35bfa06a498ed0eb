"""Print the newest table of every benchmark and bring the pages up to date: python -m benchmarks."""

from benchmarks.history import PAGES, markdown, newest, page

for name, entry in newest().items():
    print(f"\n{name} ({entry['date']})\n\n{markdown(entry['rows'])}", end="")
for path in PAGES:
    path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
