"""Who waits for whom in calls on others' arrays, and when a temporary goes back to its owner.

tests/stand_in/joins.c says who waits.
"""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# later<earlier; 0 is the default stream, o ours, a and b those of libraries. A temporary is back
# with its owner once an event on the default stream is done, which others' work comes before.
EXPECTED = """\
one library: 0<a run a<0 end
two libraries: 0<a 0<b run a<0 b<0 end
on a stream: o<a run a<o end
kept: o<a run record:o a<o record:o end settle settle
unused: back:a
queued: record:0 later back:a
queued on a stream: record:o settle record:0 later back:a
in order: record:0 record:0 record:0 later back:a back:b later back:c
without events: wait back:a
of many threads: 80000
"""


def test_who_waits_for_whom(tmp_path):
    """A library's stream is joined once per call; what a call borrows is not used afterwards."""
    program = tmp_path / "joins"
    command = [*os.environ.get("CC", "cc").split(), "-std=c11", f"-I{ROOT / 'csrc'}"]
    sources = [
        "tests/stand_in/joins.c",
        "csrc/memory/device.c",
        "csrc/memory/held.c",
        "csrc/error.c",
        "csrc/per_thread.c",
    ]
    subprocess.run(
        [*command, *(str(ROOT / one) for one in sources), "-lpthread", "-o", str(program)],
        check=True,
    )
    done = subprocess.run([program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == EXPECTED
