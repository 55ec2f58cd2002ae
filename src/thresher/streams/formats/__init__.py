"""The formats of files, each in a file of its own, which says how it is recognised, cut and parsed."""
