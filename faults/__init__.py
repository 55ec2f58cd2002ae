"""Faults, really done: what is promised in docs/reliability.md is broken here on purpose, and must hold."""
