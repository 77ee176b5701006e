"""Arrays that end and begin near the sizes at which a kernel changes what it does."""


def around(there, a, edges):
    """Yield parts of an array on a device and of its copy here, around sizes in bytes."""
    for edge in edges:
        n = edge // a.itemsize
        for begin, end in ((0, n - 1), (0, n), (0, n + 1), (1, n), (1, n + 1), (3, n + 5)):
            yield there[begin:end], a[begin:end]
