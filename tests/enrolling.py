"""An operator and holders on their way into a federation."""

from pathlib import Path
from typing import Any

from fedwalk.federation.enrolment import enrol
from fedwalk.federation.folders import FederationSettings, HolderFolder, HolderSettings
from fedwalk.federation.holder import Terms
from fedwalk.federation.identity import Request

SERVER = FederationSettings("ward", "fed.example.org:9092", "0.0.0.0:9092")


def settings(name: str, port: int = 7443, **more: Any) -> HolderSettings:
    return HolderSettings(name, f"{name}.example.org:{port}", f"0.0.0.0:{port}", "lists.adj", Terms(), **more)


def holder(path: Path, name: str, lists: str) -> tuple[HolderFolder, Request]:
    """A holder's folder with its lists, and the request that it makes."""
    folder = HolderFolder(path / name)
    folder.path.mkdir(parents=True, exist_ok=True)
    (folder.path / "lists.adj").write_text(lists, encoding="utf-8")
    return folder, enrol(folder.path, settings(name))
