"""Users' own kernels: load them, call them, and hand them to everything else in gpumem."""
