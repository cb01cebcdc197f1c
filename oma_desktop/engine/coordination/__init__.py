"""From a goal to an answer: routing, decomposition, plan gate, synthesis (engine.md 4)."""
