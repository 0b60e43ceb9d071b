"""A disk that fills up during a run: a clear error, no partial file, and the run can be resumed once there is space."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import SMALL, Command
from fedwalk.embedding import Embedding
from fedwalk.protocols.paper.stages import MATRICES, STAGES
from fedwalk.run.folder import MANIFEST

LIMITED = """
import resource, signal, sys
from fedwalk.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
sys.exit(main(sys.argv[1:]))
"""
"""Every file ends at 20 kB, for the system's own limit and in the middle of a write."""

LDP_FILES = ("reports.npz", "posterior.npz", "posterior_power.npy", "spectral.npy")
PAPER_FILES = [MANIFEST, *(name for stage in STAGES if stage is not MATRICES for name in stage.files)]
RESULTS = ("embedding.npz", "tree.npz", "walks.npy", "settings.toml", "run.json")


def vectors(run: Path) -> bytes:
    return Embedding.load(run / "embedding.npz").vectors.tobytes()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
@pytest.mark.parametrize("name", [*(f"stages/{name}" for name in PAPER_FILES), *RESULTS])
def test_a_full_disk_stops_the_run_whichever_file_it_hits(
    name: str, fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    (run / "stages").mkdir(parents=True)
    (run / f"{name}.partial").symlink_to("/dev/full")
    arguments = ("embed", network_file, "-o", run, *SMALL, "--keep-walks", "--resume")
    outcome = fedwalk(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    last = outcome.err.splitlines()[-1]
    assert last.startswith(f"fedwalk: error: {run / name}: can't be written: No space left on device.")
    assert "--resume" in last
    assert not (run / name).exists()
    assert not (run / f"{name}.partial").is_symlink()
    assert fedwalk(*arguments).code == 0
    assert sorted(path.name for path in run.iterdir()) == sorted(RESULTS)
    fedwalk("embed", network_file, "-o", tmp_path / "whole", *SMALL)
    assert vectors(run) == vectors(tmp_path / "whole")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
@pytest.mark.parametrize("name", LDP_FILES)
def test_a_full_disk_stops_a_private_run_and_nothing_is_released_twice(
    name: str, fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    run, ledger = tmp_path / "run", tmp_path / "ledger.json"
    (run / "stages").mkdir(parents=True)
    (run / "stages" / f"{name}.partial").symlink_to("/dev/full")
    private = ("--protocol", "ldp", "--epsilon", "3", "--budget", "3", "--ledger", ledger)
    arguments = ("embed", network_file, "-o", run, *SMALL, *private, "--resume")
    assert fedwalk(*arguments).code == 2
    assert json.loads(ledger.read_text())["per_edge"] == 3
    assert fedwalk(*arguments).code == 0
    assert json.loads(ledger.read_text())["per_edge"] == 3
    fedwalk("embed", network_file, "-o", tmp_path / "whole", *SMALL, "--protocol", "ldp", "--epsilon", "3")
    assert vectors(run) == vectors(tmp_path / "whole")


@pytest.mark.skipif(sys.platform == "win32", reason="needs the system's limit on file sizes")
def test_a_write_that_fails_halfway_keeps_the_stages_before_it(
    fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    arguments = ["embed", str(network_file), "-o", str(tmp_path / "whole"), *SMALL, "--dim", "128"]
    # First without the limit, so that all kernels are compiled: numba couldn't write its cache under the limit either.
    assert fedwalk(*arguments).code == 0
    arguments[3] = str(tmp_path / "run")
    outcome = subprocess.run([sys.executable, "-c", LIMITED, *arguments], capture_output=True, text=True, check=False)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    last = outcome.stderr.splitlines()[-1]
    assert last.startswith(
        f"fedwalk: error: {tmp_path / 'run' / 'stages' / 'skipgram.npy'}: can't be written: File too"
    )
    kept = {path.name for path in (tmp_path / "run" / "stages").iterdir()}
    assert kept == set(PAPER_FILES) - {"skipgram.npy"}
    assert fedwalk(*arguments, "--resume").code == 0
    assert vectors(tmp_path / "run") == vectors(tmp_path / "whole")
