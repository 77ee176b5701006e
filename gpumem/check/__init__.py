"""Whether kernels are right: every case against NumPy, and the accuracy of sums."""
