"""One kernel in words: what it asks of memory, what was measured, and what follows from both.

The words come from rules on counts and figures; no sentence is written for one kernel.
"""

from ._explanation import Explanation, explain
from ._kernel import KernelExplanation

__all__ = ["Explanation", "KernelExplanation", "explain"]
