"""Steps of models that fail, and what the host waits for in steps that do not."""

import pyopencl as cl
import pytest

import clfrnn


def step_without_memory(model, monkeypatch):
    """A step whose index has no memory for other points."""

    def refuse(*_):
        raise clfrnn.DeviceMemoryError("none left")

    with monkeypatch.context() as patch:
        patch.setattr(model.index, "update", refuse)
        with pytest.raises(clfrnn.DeviceMemoryError):
            model.step()


def waits_of_host(calls_of):
    """A list for each way of waiting, which has the calls so far."""
    owners = ((cl.Event, "wait"), (cl.CommandQueue, "finish"), (cl, "wait_for_events"))
    return [calls_of(owner, name) for owner, name in owners]
