"""How long kernels, transfers and whole calls take."""
