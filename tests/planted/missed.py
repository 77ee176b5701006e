"""Cases that the simulator gets wrong; written by ``runner.py --record``."""

MISSED: dict[str, str] = {
    "bounds_local-local_passed_on-bug": "not found",
    "freed-heap_used_after_free-bug": "found at another line",
    "freed-heap_freed_at_the_end-twin": "correct, but reported",
    "freed-heap_freed_by_first-bug": "found at another line",
    "freed-heap_freed_after_barrier-twin": "correct, but reported",
    "misaligned-aligned_struct_shifted-bug": "not found",
    "unwritten_shared-vector_partly_written-bug": "not found",
    "async_copies-source_overwritten-bug": "not found",
    "limits-static_and_dynamic_shared-1x64-204800-bug": "not found",
    "limits-at_most_128_threads-1x256-0-bug": "not found",
}
