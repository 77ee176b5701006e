"""What kernels do, counted: memory traffic on the simulator, and machine code."""
