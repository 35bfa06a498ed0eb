"""Print the newest table of every benchmark and bring docs/benchmarks.md up to date: python -m benchmarks."""

from benchmarks.history import PAGE, markdown, newest, page

for name, entry in newest().items():
    print(f"\n{name} ({entry['date']})\n\n{markdown(entry['rows'])}", end="")
PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
