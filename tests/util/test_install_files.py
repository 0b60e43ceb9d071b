"""Several files are replaced together, even if the process is interrupted."""

from pathlib import Path
from typing import Any

import pytest

from fedwalk.errors import InputError
from fedwalk.util.install_files import finish_install, install

OLD = {"a.key": b"old key", "b.pem": b"old certificate", "c.json": b"old pass"}
NEW = {"a.key": b"new key", "b.pem": b"new certificate", "c.json": b"new pass"}


class CrashError(BaseException):
    """The process ends here."""


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def crash_at(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """End at the step-th move of a file or a folder, before it happens."""
    moves = [0]

    def counting(name: str) -> Any:
        move = getattr(Path, name)

        def moved(path: Path, target: Path) -> Any:
            if moves[0] == step:
                raise CrashError
            moves[0] += 1
            return move(path, target)

        return moved

    for name in ("replace", "rename"):
        monkeypatch.setattr(Path, name, counting(name))


@pytest.mark.parametrize("step", range(8))
def test_an_install_that_is_interrupted_leaves_all_old_or_all_new_files(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, OLD)
    with monkeypatch.context() as patch:
        crash_at(step, patch)
        try:
            install(tmp_path, NEW)
        except CrashError:
            assert step < 7
    finish_install(tmp_path)
    # Three files are written, then one rename decides.
    assert content(tmp_path) == (OLD if step <= 3 else NEW)
    install(tmp_path, NEW)
    assert content(tmp_path) == NEW
    assert {path.name for path in tmp_path.iterdir()} == NEW.keys()


def test_finishing_without_an_install_does_nothing(tmp_path: Path) -> None:
    finish_install(tmp_path)
    finish_install(tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_installed_files_are_private(tmp_path: Path) -> None:
    install(tmp_path, NEW)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_a_file_that_can_not_be_replaced_is_named_and_installed_later(tmp_path: Path) -> None:
    (tmp_path / "b.pem").mkdir()
    with pytest.raises(InputError, match="completes the change"):
        install(tmp_path, NEW)
    (tmp_path / "b.pem").rmdir()
    finish_install(tmp_path)
    assert content(tmp_path) == NEW
