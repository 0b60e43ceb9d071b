"""Files are written atomically, and locks are released with their process."""

import errno
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from fedwalk.errors import InputError, RunFolderError
from fedwalk.util.files import (
    create_private,
    is_locked,
    lock_folder,
    make_private_folder,
    replace_file,
    try_lock,
    write_private,
    write_text,
)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, OSError(errno.EIO, "broken")])
def test_an_interrupted_write_leaves_the_old_file_and_no_other(
    tmp_path: Path, error: type[BaseException] | BaseException, private: bool
) -> None:
    (tmp_path / "file").write_bytes(b"old")

    def write(file: BinaryIO) -> None:
        file.write(b"new and half")
        raise error

    with pytest.raises(error if isinstance(error, type) else type(error)):
        replace_file(tmp_path / "file", write, private=private)
    assert contents(tmp_path) == {"file": b"old"}


def test_the_partial_file_of_a_killed_process_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "file.partial").write_bytes(b"half of an earlier one")
    (tmp_path / "file.partial").chmod(0o644)
    write_private(tmp_path / "file", b"new")
    assert contents(tmp_path) == {"file": b"new"}
    assert mode(tmp_path / "file") == 0o600


@pytest.mark.usefixtures("no_umask")
def test_private_files_and_folders_ignore_the_umask(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    make_private_folder(tmp_path / "folder")
    write_private(tmp_path / "folder" / "a", "text")
    create_private(tmp_path / "folder" / "b", b"key")
    write_text(tmp_path / "public", "text")
    assert mode(tmp_path / "folder") == 0o700
    assert [mode(tmp_path / "folder" / name) for name in "ab"] == [0o600, 0o600]
    assert mode(tmp_path / "public") == 0o666


def test_create_private_replaces_no_file(tmp_path: Path) -> None:
    create_private(tmp_path / "key", b"first")
    with pytest.raises(FileExistsError):
        create_private(tmp_path / "key", b"second")
    assert contents(tmp_path) == {"key": b"first"}


def test_an_error_names_the_file_the_reason_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(
        RunFolderError, match=r"nowhere/file: can't be written: No such file or directory\. Fix the problem"
    ):
        write_text(tmp_path / "nowhere" / "file", "text")


HOLD = """
import sys
from pathlib import Path
from fedwalk.util.files import try_lock
with try_lock(Path(sys.argv[1])) as free:
    print(free, flush=True)
    sys.stdin.read()
"""


def test_a_lock_is_released_when_its_process_is_killed(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    command = [sys.executable, "-c", HOLD, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        assert is_locked(lock)
        with try_lock(lock, timeout=0.1) as free:
            assert not free
        other.kill()
    assert lock.exists()
    with try_lock(lock) as free:
        assert free


def test_a_waiting_process_gets_the_lock_when_it_is_released(tmp_path: Path) -> None:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock_folder(tmp_path):
            held.set()
            done.wait(60)

    holding = threading.Thread(target=hold)
    holding.start()
    assert held.wait(60)
    assert is_locked(tmp_path / "lock")
    threading.Timer(0.2, done.set).start()
    with try_lock(tmp_path / "lock", timeout=60) as free:
        assert free
    holding.join(60)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match=r"nowhere: can't be changed .*Check the path and its permissions"),
        lock_folder(tmp_path / "nowhere"),
    ):
        raise AssertionError("the lock was taken")
