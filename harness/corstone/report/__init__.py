"""Reports made from case records: HTML, JUnit, Markdown, JSON."""
