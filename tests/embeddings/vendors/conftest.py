"""Real clients against servers on the loopback interface; nothing else can be reached."""

from __future__ import annotations

import importlib
import threading

import pytest

from support.loopback_clients import CLIENTS, KEY, KEYS, OTHER_VARIABLES, Vendor, made
from support.loopback_vendors import LoopbackVendor

DEADLINE_S = 10.0


def pytest_collection_modifyitems(items):
    here = [item for item in items if "vendors" in item.path.parts]
    for item in here:
        item.add_marker(pytest.mark.allow_hosts(["127.0.0.1"]))


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    for variable in (*KEYS.values(), *OTHER_VARIABLES):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture(params=sorted(CLIENTS))
def vendor(request, monkeypatch):
    pytest.importorskip(CLIENTS[request.param], reason=f"commonplace[{request.param}] is missing")
    yield from _vendor(request.param, monkeypatch)


@pytest.fixture(params=["gemini", "openai", "voyage"])
def batching_vendor(request, monkeypatch):
    pytest.importorskip(CLIENTS[request.param], reason=f"commonplace[{request.param}] is missing")
    yield from _vendor(request.param, monkeypatch)


def _vendor(name, monkeypatch):
    importlib.import_module(CLIENTS[name])  # not within a deadline
    monkeypatch.setenv(KEYS[name], KEY)
    with LoopbackVendor(name) as server:
        vendor = Vendor(name, server)
        yield vendor
    # A client that still waited for an answer has its connection closed by now.
    for thread in threading.enumerate():
        if thread.name.startswith("commonplace-"):
            thread.join(DEADLINE_S)
    for client in vendor.clients:
        client.close()


@pytest.fixture
def clients():
    """Return the registry's `made`, whose clients are closed at the end."""
    found = []

    def make(*arguments):
        found.append(made(*arguments))
        return found[-1]

    yield make
    for client in found:
        client.close()
