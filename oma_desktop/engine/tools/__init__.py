"""What agents may call: registry, grants, gate and the one execution pipeline."""
