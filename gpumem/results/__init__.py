"""Results of benchmarks that are shipped with gpumem; ``gpumem.results`` is a :class:`Shipped`."""

from .shipped import RESULTS, Shipped

__all__ = ["RESULTS", "Shipped"]
