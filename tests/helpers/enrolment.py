"""An operator, holders and their requests and passes."""

from datetime import datetime
from pathlib import Path
from typing import Any

from fedwalk.federation.holder.terms import Terms
from fedwalk.federation.membership.admission import enrol
from fedwalk.federation.membership.certificates import Authority
from fedwalk.federation.membership.folders import FederationFolder, FederationSettings, HolderFolder, HolderSettings
from fedwalk.federation.membership.passes import Pass, write_pass
from fedwalk.federation.membership.requests import Request, holder_certificate, read_request, request_fingerprint

SERVER = FederationSettings("ward", "fed.example.org:9092", "0.0.0.0:9092")


def settings(name: str, port: int = 7443, **more: Any) -> HolderSettings:
    return HolderSettings(name, f"{name}.example.org:{port}", f"0.0.0.0:{port}", "neighbours.adj", Terms(), **more)


def holder(path: Path, name: str, neighbours: str) -> tuple[HolderFolder, Request]:
    """A holder's folder with its neighbour lists, and its request."""
    folder = HolderFolder(path / name)
    folder.path.mkdir(parents=True, exist_ok=True)
    (folder.path / "neighbours.adj").write_text(neighbours, encoding="utf-8")
    return folder, enrol(folder.path, settings(name))


def authority_of(ward: FederationFolder) -> Authority:
    """A federation's authority, from its files."""
    return Authority(*((ward.path / name).read_bytes() for name in ("authority.pem", "authority.key")))


def dated_pass(ward: FederationFolder, request: Request, begin: datetime, days: int, server: str = "") -> Path:
    """A pass whose certificate begins at another time than now, as if issued then."""
    authority = authority_of(ward)
    certificate = holder_certificate(authority, request, days, begin).decode()
    path = ward.pass_file(f"{request.name}-{begin:%Y%m%d%H%M%S}")
    write_pass(path, Pass(request.name, server or SERVER.address, authority.certificate.decode(), certificate))
    return path


def with_fingerprint(request: Path) -> tuple[object, ...]:
    """What `fedwalk federate admit` takes besides the federation: the request, and its fingerprint as read out."""
    return request, "--fingerprint", request_fingerprint(read_request(request.read_bytes()))
