"""Messages between ranks of one host: here ranks are threads, or processes that end."""

import errno
import io
import os
import subprocess
import sys
import threading

import pytest
from processes import HANGS

from gpumem.distributed import board as boards
from gpumem.distributed.board import NoMessage, ProcessEnded, connect
from gpumem.distributed.engine import MESSAGE
from gpumem.distributed.processes import Processes

SOON = 30.0  # seconds: a bound on hanging


class Exchange:
    """Tells by a barrier and a list, as an engine would by its own means."""

    def __init__(self, ranks):
        self.told = [b""] * ranks
        self.barrier = threading.Barrier(ranks, timeout=SOON)

    def __call__(self, rank, message):
        self.told[rank] = message
        self.barrier.wait()
        found = list(self.told)
        self.barrier.wait()
        return found


def together(ranks, work):
    """Run work(rank) on a thread for each rank; return what they return."""
    found = [None] * ranks

    def run(rank):
        try:
            found[rank] = work(rank)
        except Exception as error:
            found[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
        assert not thread.is_alive()
    return found


def connected(ranks, timeout=SOON):
    exchange = Exchange(ranks)
    return together(
        ranks,
        lambda rank: connect(
            rank, ranks, lambda message: exchange(rank, message), Processes(), timeout
        ),
    )


def message(rank, number):
    return f"{rank} {number} ".encode().ljust(MESSAGE, bytes([65 + (rank + number) % 26]))


@pytest.mark.parametrize("ranks", [2, 3, 7])
def test_all_read_the_messages_of_all(ranks):
    made = connected(ranks)

    def talk(rank):
        for number in range(200):
            pending = made[rank].tell(message(rank, number))
            assert pending.wait() == [message(other, number) for other in range(ranks)]
        return "done"

    assert together(ranks, talk) == ["done"] * ranks


def test_no_file_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(boards, "_FOLDER", tmp_path)
    made = connected(2)
    assert all(made) and list(tmp_path.iterdir()) == []


def test_without_memory_to_share_there_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(boards, "_FOLDER", tmp_path / "missing")
    assert connected(3) == [None] * 3


def test_a_folder_that_is_full(tmp_path, monkeypatch):
    class Full(io.BytesIO):
        def write(self, _):
            raise OSError(errno.ENOSPC, "No space left on device")

    def fdopen(number, _):
        os.close(number)
        return Full()

    monkeypatch.setattr(boards, "_FOLDER", tmp_path)
    monkeypatch.setattr(boards.os, "fdopen", fdopen)
    assert connected(2) == [None] * 2
    assert list(tmp_path.iterdir()) == []


def test_ranks_that_see_another_file_under_the_name_do_without(monkeypatch):
    map_file = boards._map
    monkeypatch.setattr(boards, "_map", lambda path, token: map_file(path, token[::-1]))
    assert connected(2) == [None] * 2


def test_one_rank_that_cannot_is_enough(monkeypatch):
    map_file, calls = boards._map, []

    def map_once(path, token):
        calls.append(path)
        return map_file(path, token) if len(calls) > 1 else None

    monkeypatch.setattr(boards, "_map", map_once)
    assert connected(3) == [None] * 3


def test_a_message_that_is_written_in_part_is_not_read():
    first, second = connected(2)
    second.tell(message(1, 0))
    begin = first._begin(1, 1)
    pending = first.tell(message(0, 0))
    for at in (begin, begin + 8, begin + 12, begin + boards._SLOT - 1):
        byte = first._memory[at]
        first._memory[at] = byte ^ 1
        assert first._find(1, 1) is None
        first._memory[at] = byte
    assert pending.wait() == [message(0, 0), message(1, 0)]


def test_a_rank_that_is_silent_is_named():
    boards_of = connected(3, timeout=0.3)
    boards_of[1].tell(message(1, 0))
    with pytest.raises(NoMessage, match=r"no message of rank 2 within 0\.3 s") as caught:
        boards_of[0].tell(message(0, 0)).wait()
    assert caught.value.ranks == [2]
    with pytest.raises(NoMessage, match=r"no message of ranks 1, 2 within"):
        boards_of[0].tell(message(0, 1)).wait()


def test_a_process_that_has_ended_is_not_waited_for():
    program = (
        "import sys; from gpumem.distributed.processes import Processes; "
        "print(Processes().who.hex(), flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        who = bytes.fromhex(other.stdout.readline())
        first, _ = connected(2, timeout=100 * HANGS)
        first._processes.learn([first._processes.who, who])
        pending = first.tell(message(0, 0))
        other.stdin.close()
        other.wait()
        with pytest.raises(ProcessEnded, match="ended"):
            pending.wait()
