"""Files of a model hub: described, fetched with resumption, checked.

Two plain requests, as every mirror answers them: HEAD for size and hash, GET with a range for the
bytes. ``HF_ENDPOINT`` names another hub; proxies are taken from the environment. No account, no
token, no telemetry. The hub's own client is not used: it throws away what a broken download has
(huggingface_hub 1.33), reads its settings once when it is imported, and keeps caches elsewhere.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import httpx

from localmem.models.catalog import Hub, ModelFile
from localmem.models.checksum import file_sha256, git_sha1
from localmem.models.errors import DownloadFailed, ModelFileBad

ENDPOINT = "https://huggingface.co"
_CONNECT, _READ = 15.0, 30.0  # seconds; a connection that says nothing for longer has stalled
_ATTEMPTS = 3  # in a row that brought nothing new
_PAUSE = 1.0  # seconds before another attempt
_HOPS = 10
_CONTENT_RANGE = re.compile(r"bytes (\d+)-")


@dataclass(frozen=True, slots=True)
class Remote:
    """A file on the hub."""

    url: str
    size: int
    """Bytes."""
    digest: str
    """64 hex digits: its sha256. 40: git's own hash of it, which the hub gives for small files."""
    commit: str
    """The repository's commit; empty when a mirror does not say."""

    def partial(self, target: Path) -> Path:
        """Where the part of ``target`` that has arrived is kept; another content has another place."""
        return target.with_name(f".{target.name}.{self.digest[:16]}.partial")


def connect() -> httpx.Client:
    """A client for :func:`describe` and :func:`download`; close it."""
    headers = {"User-Agent": "localmem", "Accept-Encoding": "identity"}
    return httpx.Client(timeout=httpx.Timeout(_READ, connect=_CONNECT), headers=headers)


def describe(client: httpx.Client, hub: Hub, file: ModelFile) -> Remote:
    """Ask the hub about ``file``; what the catalogue knows of it must agree.

    Raises :class:`DownloadFailed` (no network, no such file, an account is wanted) and
    :class:`ModelFileBad` (the hub has another file under this name).
    """
    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or ENDPOINT
    if not endpoint.startswith(("https://", "http://")):
        raise DownloadFailed(f"HF_ENDPOINT is {endpoint!r}; it must be an https:// address.")
    url = f"{endpoint}/{hub.repo}/resolve/{hub.revision}/{quote(file.path)}"
    headers = _head(client, url)
    etag = headers.get("x-linked-etag", headers.get("etag", "")).removeprefix("W/").strip('"')
    told = etag if re.fullmatch(r"[0-9a-f]{64}|[0-9a-f]{40}", etag) else None
    length = headers.get("x-linked-size", headers.get("content-length", ""))
    size = int(length) if length.isdecimal() else None
    if (size and file.size and size != file.size) or (
        told and file.sha256 and len(told) == 64 and told != file.sha256
    ):
        raise ModelFileBad(
            f"{hub.repo} has another {file.path} than the one the catalogue names. Nothing was fetched."
        )
    digest, size = file.sha256 or told, file.size or size
    if digest is None or not size:
        raise DownloadFailed(f"{httpx.URL(url).host} does not say how large {file.path} is, or its hash.")
    return Remote(url, size, digest, headers.get("x-repo-commit", ""))


def download(client: httpx.Client, remote: Remote, target: Path, progress: Callable[[int], None]) -> str:
    """Fetch ``remote`` to ``target``, which appears whole and checked; return its sha256.

    ``progress`` gets the bytes that are here. An interrupted download, killed ones included, goes
    on at its next call from where it was. Raises :class:`DownloadFailed` and :class:`ModelFileBad`.
    """
    partial = remote.partial(target)
    for stale in target.parent.glob(f".{target.name}.*.partial"):
        if stale != partial:  # of a file that the hub has replaced
            stale.unlink()
    best = _size(partial)
    failures = 0
    while _size(partial) < remote.size:
        try:
            _transfer(client, remote, partial, progress)
        except httpx.HTTPError as error:
            failures = 0 if _size(partial) > best else failures + 1
            best = max(best, _size(partial))
            if failures >= _ATTEMPTS:
                raise _no_connection(remote.url, error) from error
            time.sleep(_PAUSE)
        except OSError as error:
            raise DownloadFailed(
                f"{target.parent} cannot be written ({error.strerror}). What has arrived is kept; "
                f"when there is room, pull again to go on."
            ) from error
    sha256 = file_sha256(partial)
    digest = sha256 if len(remote.digest) == len(sha256) else git_sha1(partial)
    if digest != remote.digest:
        partial.unlink()
        raise ModelFileBad(
            f"The download of {target.name} is not the file that was asked for (hash {digest}, expected "
            f"{remote.digest}). It was thrown away; try again, and if this stays so, do not trust "
            f"{httpx.URL(remote.url).host}."
        )
    partial.replace(target)
    return sha256


def _head(client: httpx.Client, url: str) -> dict[str, str]:
    """Headers of ``url``, those of redirects on the way included.

    What the hub says of a large file is in the answer that redirects to where the bytes lie; that
    place need not answer HEAD at all.
    """
    headers: dict[str, str] = {}
    request = client.build_request("HEAD", url)
    for _ in range(_HOPS):
        try:
            response = client.send(request)
        except httpx.HTTPError as error:
            raise _no_connection(url, error) from error
        _check_status(response, url)
        keep = dict(response.headers.items())
        if response.is_redirect:
            keep = {name: value for name, value in keep.items() if name.startswith("x-")}
        headers = keep | headers
        if "x-linked-etag" in headers or response.next_request is None:
            return headers
        request = response.next_request
    raise DownloadFailed(f"{httpx.URL(url).host} redirects without end.")


def _transfer(client: httpx.Client, remote: Remote, partial: Path, progress: Callable[[int], None]) -> None:
    """One request for what is missing; what arrives is in ``partial`` whatever happens."""
    have = _size(partial)
    wanted = {"Range": f"bytes={have}-"} if have else {}
    with client.stream("GET", remote.url, headers=wanted, follow_redirects=True) as response:
        if response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            partial.unlink()
            raise httpx.RemoteProtocolError("it refuses to go on in the middle")
        _check_status(response, remote.url)
        begins = _CONTENT_RANGE.match(response.headers.get("content-range", ""))
        if response.status_code != httpx.codes.PARTIAL_CONTENT:
            have = 0  # it ignored the range and sends all
        elif begins is None or int(begins[1]) != have:
            raise httpx.RemoteProtocolError("it sends another part than was asked for")
        with partial.open("r+b" if have else "wb") as out:
            out.seek(have)
            for chunk in response.iter_raw():
                out.write(chunk)
                have += len(chunk)
                if have > remote.size:
                    break
                progress(have)
            out.flush()
            os.fsync(out.fileno())
    if have > remote.size:
        partial.unlink()
        raise ModelFileBad(
            f"More than the {remote.size:,} bytes of {remote.url} came. They were thrown away."
        )


def _check_status(response: httpx.Response, url: str) -> None:
    code = response.status_code
    host = httpx.URL(url).host
    if code < 400:
        return
    if code in (401, 403):
        raise DownloadFailed(
            f"{host} gives {url} to accounts only ({code}), or has it no more. Get the file with a browser, "
            f"then: localmem models use ROLE FILE.gguf"
        )
    if code == 404:
        raise DownloadFailed(f"{host} has no {url} (404). The repository has changed; choose another model.")
    raise DownloadFailed(f"{host} answers {code} for {url}. Try again later; what has arrived is kept.")


def _no_connection(url: str, error: httpx.HTTPError) -> DownloadFailed:
    reason = str(error) or type(error).__name__
    return DownloadFailed(
        f"The connection to {httpx.URL(url).host} failed ({reason}). What has arrived is kept: pull again to "
        f"go on. Behind a proxy set HTTPS_PROXY; HF_ENDPOINT names a mirror."
    )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
