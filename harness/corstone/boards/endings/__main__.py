"""``python -m corstone.boards.endings > docs/verdicts.md`` writes the catalogue page."""

from corstone.boards.endings.page import page

print(page(), end="")
