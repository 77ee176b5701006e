"""Users' CUDA C on the simulator: parsed, compiled by the host's compiler, loaded and run."""
