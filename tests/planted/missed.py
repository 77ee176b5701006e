"""Cases that the simulator gets wrong; written by ``runner.py --record``."""

MISSED: dict[str, str] = {
    "bounds_local-local_passed_on-bug": "not found",
}
