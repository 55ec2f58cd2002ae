"""Files that are written whole, and what is written to them: models and checkpoints."""
