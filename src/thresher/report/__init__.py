"""A training run as a web page: one file that needs no network, to read, print and send."""

from thresher.report.page import environment, write_report

__all__ = ["environment", "write_report"]
