"""Writers of one file: who waits is next, and a writer that dies or has no files keeps nobody out."""

import threading
from pathlib import Path

from acumen.storage.engine.group_commit import WriteTurns

# While one waits for the place of the next, another may be in it, and a third may be writing.
MOST_BEFORE = 2


def test_a_writer_that_comes_back_at_once_lets_those_who_wait_go_first(tmp_path: Path):
    greedy, patient = WriteTurns(tmp_path / "a.db"), WriteTurns(tmp_path / "a.db")
    over, turns = threading.Event(), 0

    def write_without_a_pause() -> None:
        nonlocal turns
        while not over.is_set():
            with greedy:
                turns += 1

    writer = threading.Thread(target=write_without_a_pause)
    writer.start()
    waited = []
    for _ in range(50):
        asked_at = turns
        with patient:
            waited.append(turns - asked_at)
    over.set()
    writer.join()

    # Before the call reaches the kernel, the other may have had any number of turns: the usual wait is what counts.
    assert sorted(waited)[len(waited) // 2] <= MOST_BEFORE


def test_a_folder_that_takes_no_files_keeps_nobody_from_writing(tmp_path: Path):
    (tmp_path / "file").touch()
    turns = WriteTurns(tmp_path / "file" / "a.db")

    with turns:
        pass

    turns.close()
