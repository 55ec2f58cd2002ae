"""REPORT.md from the results: differences → tables and findings → the template's placeholders."""
