"""The package's face: its public names, and the lists that must agree with the registries."""

import subprocess
import sys
from importlib.metadata import entry_points, version

import pytest

import fedwalk
from fedwalk.cli import main
from fedwalk.cli.arguments import FORMATS
from fedwalk.evaluation import RULES
from fedwalk.graph import formats
from fedwalk.protocols.paper.encoder import ENCODERS
from fedwalk.protocols.paper.predictors import predictors
from fedwalk.protocols.paper.tree_builders import BUILDERS
from fedwalk.protocols.registry import OURS, find_protocol
from fedwalk.settings import CHOICES

PROTOCOLS = [find_protocol(name) for name in OURS]


@pytest.mark.parametrize("name", fedwalk.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    value = getattr(fedwalk, name)
    assert name in dir(fedwalk)
    assert isinstance(value, str) or len(value.__doc__ or "") > 20


def test_public_methods_are_documented() -> None:
    for owner in (fedwalk.FedWalk, fedwalk.DeepWalk, fedwalk.Embedding, fedwalk.Graph, fedwalk.Settings):
        for name, member in vars(owner).items():
            if not name.startswith("_") and (callable(member) or isinstance(member, property | classmethod)):
                assert member.__doc__, f"{owner.__name__}.{name}"


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'FedRun'"):
        _ = fedwalk.FedRun


def test_the_version_is_the_installed_one() -> None:
    assert fedwalk.__version__ == version("fedwalk")


def test_the_command_is_installed() -> None:
    (script,) = entry_points(group="console_scripts", name="fedwalk")
    assert script.load() is main


def test_the_choices_are_those_of_the_registries() -> None:
    assert set(CHOICES["tree"]) == set(BUILDERS)
    assert set(CHOICES["encoder"]) == set(ENCODERS)
    assert set(CHOICES["runtime"]) == {name for protocol in PROTOCOLS for name in protocol.runtimes}
    assert set(CHOICES["embed"]) == {name for protocol in PROTOCOLS for name in protocol.embeddings}
    # A program may have registered more; the built-in ones come first.
    assert tuple(predictors())[: len(CHOICES["predictor"])] == CHOICES["predictor"]


def test_the_command_line_knows_the_formats_and_rules() -> None:
    assert tuple(formats.FORMATS) == FORMATS
    assert RULES == ("known-count", "threshold")


@pytest.mark.parametrize(
    "code", ["import fedwalk", "from fedwalk.cli import build_parser; build_parser().format_help()"]
)
def test_importing_and_asking_for_help_load_nothing_heavy(code: str) -> None:
    heavy = "{'numpy', 'numba', 'scipy', 'sklearn', 'rich'} & {name.split('.')[0] for name in sys.modules}"
    ask = f"import sys; {code}; print(sorted({heavy}))"
    assert subprocess.run([sys.executable, "-c", ask], capture_output=True, check=True).stdout.strip() == b"[]"


def test_loading_every_protocol_leaves_out_what_only_audits_and_scores_need() -> None:
    load_all = "from fedwalk.protocols.registry import OURS, find_protocol; [find_protocol(name) for name in OURS]"
    heavy = "[name for name in ('scipy.stats', 'scipy.optimize', 'sklearn', 'matplotlib') if name in sys.modules]"
    ask = f"import sys; {load_all}; print({heavy})"
    assert subprocess.run([sys.executable, "-c", ask], capture_output=True, check=True).stdout.strip() == b"[]"
