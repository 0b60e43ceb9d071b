"""An operator and holders on their way into a federation."""

from datetime import datetime
from pathlib import Path
from typing import Any

from fedwalk.federation.enrolment import enrol
from fedwalk.federation.folders import FederationFolder, FederationSettings, HolderFolder, HolderSettings
from fedwalk.federation.holder import Terms
from fedwalk.federation.identity import Authority, Request, admit, fingerprint, read_request
from fedwalk.federation.passes import Pass, write_pass

SERVER = FederationSettings("ward", "fed.example.org:9092", "0.0.0.0:9092")


def settings(name: str, port: int = 7443, **more: Any) -> HolderSettings:
    return HolderSettings(name, f"{name}.example.org:{port}", f"0.0.0.0:{port}", "lists.adj", Terms(), **more)


def holder(path: Path, name: str, lists: str) -> tuple[HolderFolder, Request]:
    """A holder's folder with its lists, and the request that it makes."""
    folder = HolderFolder(path / name)
    folder.path.mkdir(parents=True, exist_ok=True)
    (folder.path / "lists.adj").write_text(lists, encoding="utf-8")
    return folder, enrol(folder.path, settings(name))


def authority_of(ward: FederationFolder) -> Authority:
    """A federation's authority, from its files."""
    return Authority(*((ward.path / name).read_bytes() for name in ("authority.pem", "authority.key")))


def dated_pass(ward: FederationFolder, request: Request, begin: datetime, days: int, server: str = "") -> Path:
    """A pass whose certificate begins at another time than now, as an operator's clock would have made it."""
    authority = authority_of(ward)
    certificate = admit(authority, request, days, begin).decode()
    path = ward.passport(f"{request.name}-{begin:%Y%m%d%H%M%S}")
    write_pass(path, Pass(request.name, server or SERVER.address, authority.certificate.decode(), certificate))
    return path


def with_fingerprint(request: Path) -> tuple[object, ...]:
    """What `fedwalk federate admit` takes besides the federation: the request, and its fingerprint as read out."""
    return request, "--fingerprint", fingerprint(read_request(request.read_bytes()))
