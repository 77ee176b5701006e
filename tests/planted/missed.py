"""Cases that the simulator gets wrong; written by ``runner.py --record``."""

MISSED: dict[str, str] = {}
