"""The tools every agent may be granted: files inside one folder, and a shell (engine.md 9).

Knows the pipeline's contract (`registry`), no run and no store. What the tools answer is read by
models and part of the protocol, like the sentences of `results`.
"""
