"""From the live run to the bytes of a checkpoint and the rows of the ledger (engine.md 5, 7)."""
