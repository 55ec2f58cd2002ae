"""Ray as an engine: only its tasks and its object store are used; a call is a task of Ray."""

from __future__ import annotations

import importlib
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from thresher.distributed.engines import (
    After,
    Calls,
    Function,
    SharedObjects,
    attempt,
    do_nothing,
    join,
    merge_groups,
    result_or_raise,
)
from thresher.messages import Spelling, parameter, spell_parameters, spelling

# Seconds in which a cluster must answer.
_PATIENCE = 10.0


class OnRay:
    """Tasks of one core each. Ray runs a task again if its worker dies; results stay in the object store."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._shared = SharedObjects(ray.put, lambda _: None)  # Ray drops objects without references
        self._after_each: After = do_nothing
        self._run = ray.remote(num_cpus=1, max_retries=3)(_run)
        self._join = ray.remote(num_cpus=1, max_retries=3)(_join)

    def map(
        self, function: Function, common: tuple[Any, ...], calls: Calls, after_each: After = do_nothing
    ) -> list[Any]:
        """Start all calls; what is common to them is put into the object store once."""
        shared = self._shared.references(common)
        self._after_each = after_each
        return [self._run.remote(spelling(), function, call, *shared) for call in calls]

    def merge(self, function: Function, handles: list[Any], *arguments: Any) -> Any:
        """Merge the results by tasks, up a tree, and fetch the last."""
        pending = handles
        while len(handles) > 1:
            handles = [self._join.remote(function, arguments, *group) for group in merge_groups(handles)]
        last = self._join.remote(function, arguments, *handles)
        while pending:
            done, pending = self._ray.wait(pending, num_returns=min(len(pending), 1 + len(pending) // 100))
            for _ in done:
                self._after_each()
        try:
            return result_or_raise(self._ray.get(last))
        except self._ray.exceptions.RayError as error:
            raise ChildProcessError(f"Ray could not finish a task: {_first_line(error)}") from None


def _run(spelled: Spelling, function: Function, call: tuple[Any, ...], *common: Any) -> Any:
    spell_parameters(spelled)  # a message that ends the run is read where it was started
    return attempt(function, *common, *call)


def _join(function: Function, arguments: tuple[Any, ...], *results: Any) -> Any:
    return join(function, list(results), *arguments)


@contextmanager
def on_ray(address: str | None) -> Iterator[OnRay]:
    """Connect to a cluster, or start Ray on this machine and stop it at the end. An existing connection is kept."""
    ray = _ray()
    if ray.is_initialized():
        if address not in (None, "auto"):
            _refuse_other_cluster(address, ray.get_runtime_context().gcs_address, ray.util.get_node_ip_address())
        yield OnRay(ray)
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    if address is None:
        options["include_dashboard"] = False
    else:
        _check_address(address)
    try:
        ray.init(address="local" if address is None else address, **options)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise ConnectionError(f"{parameter('address', address)}: {_first_line(error)}") from None
    try:
        yield OnRay(ray)
    finally:
        ray.shutdown()


def _refuse_other_cluster(address: str, connected: str, own_ip: str) -> None:
    """Raise ValueError if the process is connected to a cluster that is not at the address."""
    (host, port), (its_host, its_port) = (_host_and_port(each, own_ip) for each in (address, connected))
    if host != its_host or (port != its_port and not address.startswith("ray://")):  # clients have a port of their own
        raise ValueError(
            f"{parameter('address', address)}: this process is connected to another cluster, {connected}; call "
            "ray.shutdown() first, or leave the address out."
        )


def _host_and_port(address: str, own_ip: str) -> tuple[str, str]:
    """Return the IP address of a host, which is not the loopback's for this machine, and the port."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    with suppress(OSError):
        host = socket.gethostbyname(host)
    return own_ip if host.startswith("127.") else host, port


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise ValueError(
            f"{parameter('engine', 'ray')} needs Ray: install it with pip install 'thresher[ray]', or use "
            f"{parameter('engine', 'local')}."
        ) from None


def _check_address(address: str) -> None:
    """Raise ConnectionError at once if there is no answer: Ray itself would try for a minute."""
    if address == "auto":
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"{parameter('address', address)}: give a host and a port, as 10.0.0.1:6379, or 'auto'.")
    try:
        with socket.create_connection((host, int(port)), timeout=_PATIENCE) as connection:
            is_ray = _is_grpc(connection)
    except OSError as error:
        raise ConnectionError(
            f"{parameter('address', address)}: no answer from there ({error.strerror or error}): start the cluster "
            "with ray start --head, or leave the address out to start Ray on this machine."
        ) from None
    if not is_ray:
        raise ConnectionError(f"{parameter('address', address)}: the server there is not Ray.")


def _is_grpc(connection: socket.socket) -> bool:
    """Return whether a server speaks HTTP/2, as Ray's does: it must begin with a SETTINGS frame, whose type is 4."""
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
    try:
        answer = connection.recv(9)
    except TimeoutError:
        return False
    return len(answer) > 3 and answer[3] == 4


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
