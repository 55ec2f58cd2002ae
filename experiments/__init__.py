"""The paper's experiments: every table and figure, side by side with the paper.

`python -m experiments run NAME` runs the data set that configs/NAME.toml describes; `make paper` runs them all. Results
are CSV files in results/, figures are drawn from those, and REPORT.md is written from both, never by hand.
"""
