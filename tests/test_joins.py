"""How calls on arrays of other libraries order streams; tests/stand_in/joins.c says who waits."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# later<earlier; 0 is the default stream, o ours, a and b those of libraries.
EXPECTED = """\
one library: 0<a run a<0 end
two libraries: 0<a 0<b run a<0 b<0 end
on a stream: o<a run a<o end
kept: o<a run record:o a<o record:o end settle settle
"""


def test_who_waits_for_whom(tmp_path):
    """A library's stream is joined once per call; what a call borrows is not used afterwards."""
    program = tmp_path / "joins"
    command = [*os.environ.get("CC", "cc").split(), "-std=c11", f"-I{ROOT / 'csrc'}"]
    sources = ["tests/stand_in/joins.c", "csrc/memory/device.c", "csrc/error.c"]
    subprocess.run(
        [*command, *(str(ROOT / one) for one in sources), "-lpthread", "-o", str(program)],
        check=True,
    )
    done = subprocess.run([program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == EXPECTED
