"""REPORT.md from the results: statistics → comparisons → claims and tables → the template's placeholders."""
