"""Creating a federation, admitting holders, and renewing certificates and keys.

The operator and the owners of the holders exchange files:
init (operator) → enrol (holder) → request.json → admit (operator) → pass → the holder can start.
"""

import shutil
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from fedwalk.errors import InputError
from fedwalk.federation.app_folder import write_app
from fedwalk.federation.holder.neighbour_file import read_neighbours
from fedwalk.federation.holder.terms import Terms
from fedwalk.federation.membership.authority_succession import former_end, not_ended, successor
from fedwalk.federation.membership.certificates import Authority
from fedwalk.federation.membership.folders import (
    FederationFolder,
    FederationSettings,
    HolderFolder,
    HolderSettings,
    check_folder_settings,
    write_settings,
)
from fedwalk.federation.membership.keys import (
    Credentials,
    new_authority,
    new_node_key,
    new_tls_key,
    server_certificate,
    write_secret,
)
from fedwalk.federation.membership.passes import Pass, waiting_keys, write_pass
from fedwalk.federation.membership.requests import Request, holder_certificate, holder_request, read_request
from fedwalk.federation.membership.roster import Roster
from fedwalk.federation.membership.validity import date_text
from fedwalk.federation.names import check_address, listen_after_move
from fedwalk.util.files import RETRY, lock_folder, make_private_folder, sync_folder, write_failure, write_private
from fedwalk.util.install_files import finish_install, install

AUTHORITY_YEARS = 10


def create_federation(path: Path, settings: FederationSettings, days: int) -> FederationFolder:
    """Create a federation: its authority, the server's certificate, an empty roster and the Flower app."""
    folder = FederationFolder(path)
    check_folder_settings(settings)
    if folder.settings_file.exists():
        raise InputError(f"{path}: is a federation already. Name another folder.")
    make_private_folder(path)
    authority = new_authority(settings.name, 365 * AUTHORITY_YEARS)
    credentials = _server_credentials(authority, settings.address, days)
    write_private(folder.authority, authority.certificate.decode())
    write_secret(folder.authority_key, authority.key)
    write_secret(folder.key, credentials.key)
    write_private(folder.certificate, credentials.certificate.decode())
    Roster().save(folder.roster)
    write_app(folder.app)
    write_private(folder.nodes, "{}")
    # Last: a folder with settings counts as a complete federation.
    write_settings(folder.settings_file, settings)
    return folder


def renew_server(folder: FederationFolder, days: int, address: str | None = None) -> FederationSettings:
    """Give the server a new key and certificate, and a new address if one is given; returns the resulting settings."""
    with lock_folder(folder.path):
        settings = folder.settings()
        address = address or settings.address
        check_address(address)
        made = _server_credentials(_authority(folder), address, days)
        # The former authority's certificate is for holders that know only the former authority.
        certificate = made.certificate + _vouching(folder)
        install(folder.path, {folder.key.name: made.key, folder.certificate.name: certificate})
        # After the certificate: at a new address without a certificate for it, every holder would refuse the server.
        if address != settings.address:
            listen = listen_after_move(settings.listen, settings.address, address)
            settings = replace(settings, address=address, listen=listen)
            write_settings(folder.settings_file, settings)
        return settings


def renew_authority(folder: FederationFolder, days: int, overlap: int, now: datetime | None = None) -> datetime | None:
    """Replace the authority and the server's key and certificate.

    Returns the time until which the old authority is still trusted; None with an overlap of 0 days, which is for an
    authority whose key was stolen.
    """
    with lock_folder(folder.path):
        old = _authority(folder)
        # Only one former authority is kept, so a second renewal would end the trust in the first one too early.
        until = former_end(old.certificate)
        if overlap and until and until > datetime.now(UTC):
            raise InputError(
                f"{folder.path}: the former authority is still trusted, until {date_text(until)}. Renew after that. If "
                "a key was stolen, use --overlap 0: then no former authority is trusted, and each holder must compare "
                "the new fingerprint by phone."
            )
        # Authority and server certificate are installed together: with only one of them, no holder could connect.
        new, vouching = successor(old, 365 * AUTHORITY_YEARS, overlap, now)
        server = _server_credentials(new, folder.settings().address, days)
        install(
            folder.path,
            {
                folder.authority_key.name: new.key,
                folder.authority.name: new.certificate,
                folder.vouching.name: vouching,
                folder.key.name: server.key,
                folder.certificate.name: server.certificate + vouching,
            },
        )
        return former_end(new.certificate)


def check_reachable(settings: HolderSettings) -> None:
    """Refuse an invalid address, or a missing one if other holders have to send messages to this holder."""
    if settings.address:
        check_address(settings.address)
    elif settings.terms.need_address:
        meeting = " and ".join(name for name in settings.terms.protocols if Terms((name,)).need_address)
        raise InputError(
            f"The holder {settings.name!r} allows `{meeting}`, in which other holders send it tokens, but has no "
            "address. Give one with `fedwalk federate enrol FOLDER --address HOST:PORT`, or allow only ldp."
        )


def enrol(path: Path, settings: HolderSettings) -> Request:
    """Make a holder's keys, which never leave the folder, and the request for the operator.

    Called again, with more devices or another address, it keeps the keys and writes a new request.
    """
    folder = HolderFolder(path)
    check_reachable(settings)
    check_folder_settings(settings)
    folder.check_no_old_store()
    if folder.settings_file.exists() and (name := folder.settings().name) != settings.name:
        raise InputError(f"{path}: is the holder {name!r}, which can't be renamed. Use another folder.")
    # Before anything is written: a file that can't be read must not leave a half-made holder.
    devices = read_neighbours(path / settings.neighbours).devices
    make_private_folder(path)
    finish_install(path)
    # Existing keys are kept: the operator recognises the holder by them.
    for key, make in zip(folder.private_keys, (new_tls_key, new_node_key), strict=True):
        if not key.exists():
            write_secret(key, make())
    request = _write_request(folder, settings, devices)
    write_settings(folder.settings_file, settings)
    write_app(folder.app)
    return request


def renew_keys(folder: HolderFolder) -> Request:
    """Make new keys for a holder, and a request for them that the old node key signs too.

    The old keys stay in use until the holder accepts the operator's pass for the new ones. Called again before that, it
    repeats the request with the same new keys.
    """
    settings = folder.settings()
    devices = read_neighbours(folder.path / settings.neighbours).devices
    with lock_folder(folder.path):
        finish_install(folder.path)
        for key in folder.private_keys:
            if not key.exists():
                raise InputError(
                    f"{key}: does not exist, so it can't be renewed. Restore it from a copy. If it is "
                    "lost, run `fedwalk federate enrol` and ask the operator to admit the request with --new-keys."
                )
        # New keys that are already there are kept, because the operator may have their request.
        if not waiting_keys(folder):
            _make_next_keys(folder)
        return _write_request(folder, settings, devices)


def _make_next_keys(folder: HolderFolder) -> None:
    """Write both new keys. Their folder is renamed at the end, so a crash leaves both or none."""
    partial = folder.next_keys.with_name("next.partial")
    # A crash leaves the first before the renaming below, and the second after its keys have come into use.
    for stale in (partial, folder.next_keys):
        shutil.rmtree(stale, ignore_errors=True)
    make_private_folder(partial)
    write_secret(partial / folder.key.name, new_tls_key())
    write_secret(partial / folder.node_key.name, new_node_key())
    try:
        partial.rename(folder.next_keys)
        # Before the request is written: if a crash undid the renaming, the operator would admit keys that are lost.
        sync_folder(folder.path)
    except OSError as error:
        raise write_failure(folder.next_keys, error, RETRY) from error


def _write_request(folder: HolderFolder, settings: HolderSettings, devices: Iterable[str]) -> Request:
    """Write the request for the holder's keys, or for its new keys if it has made some."""
    waiting = waiting_keys(folder)
    own = {key.name: key.read_bytes() for key in folder.private_keys}
    former = own[folder.node_key.name] if waiting else None
    tls_key, node_key = ((waiting or own)[key.name] for key in folder.private_keys)
    data = holder_request(settings.name, settings.address, list(devices), tls_key, node_key, former)
    write_private(folder.request, data.decode())
    return read_request(data)


def admit_holder(folder: FederationFolder, request: Request, days: int, *, new_keys: bool = False) -> Path:
    """Add the holder to the roster and write its pass; returns the path of the pass.

    `new_keys` admits new keys of a known holder that its old key hasn't signed: see `Roster.admitted`.
    """
    with lock_folder(folder.path):
        authority = _authority(folder)
        # Raises, before anything is written, if the request conflicts with the roster.
        roster = Roster.load(folder.roster).admitted(request, new_keys=new_keys)
        certificate = holder_certificate(authority, request, days) + _vouching(folder)
        path = folder.pass_file(request.name)
        # A former authority that has expired is left out of the pass.
        trusted = not_ended(authority.certificate) or authority.certificate
        write_pass(path, Pass(request.name, folder.settings().address, trusted.decode(), certificate.decode()))
        # The roster last: a holder that is in it always has a pass.
        roster.save(folder.roster)
        return path


def remove_holder(folder: FederationFolder, name: str) -> None:
    """Remove a holder: it gets no more questions, and its tokens are refused. Its vertices keep their ids.

    Its node stays registered with Flower, which would never accept the same key again.
    """
    with lock_folder(folder.path):
        Roster.load(folder.roster).removed(name).save(folder.roster)


def _authority(folder: FederationFolder) -> Authority:
    finish_install(folder.path)
    try:
        return Authority(folder.authority.read_bytes(), folder.authority_key.read_bytes())
    except OSError as error:
        raise InputError(
            f"{error.filename}: can't be read ({error.strerror}). This requires the authority's private key."
        ) from error


def _vouching(folder: FederationFolder) -> bytes:
    """The former authority's certificate for this one while it is valid, else nothing."""
    return not_ended(folder.vouching.read_bytes()) if folder.vouching.exists() else b""


def _server_credentials(authority: Authority, address: str, days: int) -> Credentials:
    # A certificate names an IPv6 address without the brackets of host:port.
    return server_certificate(authority, [address.rpartition(":")[0].strip("[]")], days)
