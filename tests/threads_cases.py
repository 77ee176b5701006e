"""What the tests of threads share."""

import json

import processes


def python(code, **environment):
    """Run code in a fresh interpreter and decode the JSON on its last line of output."""
    return json.loads(processes.python(code, **environment).splitlines()[-1])
